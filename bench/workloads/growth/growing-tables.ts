import type { Curve, Latency } from "../../lib/table";

/**
 * Tables that grow: `grow` adds rows to what is there. `measure` calls `plot` with the latency of each curve, in any
 * order; a curve of which a measurement fails has no further points.
 */
export type Growth = {
  curves: Omit<Curve, "points">[];
  grow: (from: number, to: number) => Promise<void>;
  measure: (size: number, plot: Plot) => Promise<void>;
};

export type Plot = (name: string, measure: () => Promise<Latency>) => Promise<void>;
