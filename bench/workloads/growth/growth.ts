import assert from "node:assert/strict";
import type { Bench } from "../../lib/bench";
import { isSmoke } from "../../lib/scale";
import type { Curve, Latency, Section } from "../../lib/table";
import { billingGrowth } from "./billing";

const SIZES = isSmoke ? [1_000, 2_000] : [10_000, 100_000, 1_000_000, 10_000_000];

/** Tables that grow: `grow` adds rows to what is there, and `measure` returns the latency of each curve. */
export type Growth<Name extends string> = {
  curves: Record<Name, Pick<Curve, "title" | "rows">>;
  grow: (from: number, to: number) => Promise<void>;
  measure: (size: number) => Promise<Record<Name, Latency>>;
};

/** The latency of single requests as the tables that they read and write grow. */
export async function growth(bench: Bench): Promise<Section> {
  const curves = await plot(await billingGrowth(bench));
  const rows = curves.flatMap(({ title, rows: unit, points }) =>
    points.map(({ size, ...latency }) => ({
      candidate: `${title}, ${size.toLocaleString("en-US")} ${unit}`,
      ...latency,
    })),
  );
  return { title: "one at a time", rows, curves };
}

async function plot<Name extends string>({ curves, grow, measure }: Growth<Name>): Promise<Curve[]> {
  const names = Object.keys(curves) as Name[];
  const plotted = new Map(names.map((name): [Name, Curve] => [name, { name, ...curves[name], points: [] }]));
  for (const [i, size] of SIZES.entries()) {
    const startedAt = performance.now();
    await grow(SIZES[i - 1] ?? 0, size);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
    console.error(`growth: ${size.toLocaleString("en-US")} rows for ${names.join(", ")} loaded in ${seconds} s`);
    const latencies = await measure(size);
    for (const name of names) plotted.get(name)?.points.push({ size, ...latencies[name] });
  }
  const all = [...plotted.values()];
  assert.ok(all.every(({ points }) => points.length === SIZES.length));
  return all;
}
