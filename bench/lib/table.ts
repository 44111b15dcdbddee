import type { Result, Round } from "./compare";

/** A figure over all rounds of a run. */
export type Spread = { median: number; min: number; max: number };

/** A figure that was measured several times, or once. */
export type Figure = number | Spread;

/** A target for a figure, and whether the median meets it. `isMetAlways`: whether each round does, if known. */
export type Goal = { target: string; isMet: boolean; isMetAlways?: boolean };

/** One row of a table. A figure that does not apply is null or missing. `ratio` compares the product with this row. */
export type Row = {
  candidate: string;
  throughput?: Amount | string | null;
  p50Ms?: Figure | null;
  p95Ms?: Figure | null;
  p99Ms?: Figure | null;
  cpuMsPerRequest?: Figure | null;
  /** PostgreSQL's, all its processes together. */
  databaseCpuMsPerRequest?: Figure | null;
  walBytesPerRequest?: Figure | null;
  /** A response with its headers, or a row with its indexes. */
  bytes?: Figure | null;
  memoryMiB?: number | null;
  ratio?: Figure | null;
  goal?: Goal | null;
};

export type Amount = { figure: Figure; unit: string };

export type Latency = { p50Ms: Figure; p99Ms: Figure };

/** Latencies by the number of rows. `rows` says of what, for example "events". */
export type Curve = { name: string; title: string; rows: string; points: ({ size: number } & Latency)[] };

/** `failures`: what could not be measured. The rest is still reported, and the run fails at its end. */
export type Section = {
  title: string;
  rows: Row[];
  notes?: string[];
  results?: Result[];
  curves?: Curve[];
  failures?: string[];
};

/** The unit of throughput: `per` units a request. */
type Unit = { name: string; per: number };
const REQUESTS: Unit = { name: "/s", per: 1 };

/** A candidate's figures over its rounds. */
export function toRow(result: Result, unit = REQUESTS, ratio: Figure | null = null, goal: Goal | null = null): Row {
  const of = (key: keyof Round) => spread(result.rounds.map((round) => round[key]));
  return {
    candidate: result.candidate,
    throughput: { figure: spread(result.rounds.map(({ perSecond }) => perSecond * unit.per)), unit: unit.name },
    p50Ms: of("p50Ms"),
    p99Ms: of("p99Ms"),
    cpuMsPerRequest: of("cpuMsPerRequest"),
    memoryMiB: result.peakMiB,
    ratio,
    goal,
  };
}

/** The first result, then the others with the first's throughput divided by theirs. `targets` maps a candidate's name to the minimum of that ratio. */
export function byThroughput(results: Result[], targets: Record<string, number> = {}, unit = REQUESTS): Row[] {
  return results.map((result, i) => {
    const [first] = results;
    if (!first || i === 0) return toRow(result, unit);
    const ratio = ratioSpread(first, result, "perSecond");
    const target = targets[result.candidate];
    return toRow(result, unit, ratio, target === undefined ? null : atLeast(ratio, target));
  });
}

/** The ratios, over the rounds, of one candidate's figure divided by the other's. */
export function ratioSpread(one: Result, other: Result, key: keyof Round): Spread {
  return spread(one.rounds.map((round, i) => round[key] / (other.rounds[i]?.[key] ?? Number.NaN)));
}

export const ratioOf = (one: Result, other: Result, key: keyof Round): number => ratioSpread(one, other, key).median;

/** A figure of all rounds. */
export const spreadOf = ({ rounds }: Result, key: keyof Round): Spread => spread(rounds.map((round) => round[key]));

export const atLeast = (value: Figure, min: number, unit = ""): Goal => ({
  target: `≥ ${grouped(min)}${unit}`,
  isMet: medianOf(value) >= min,
  isMetAlways: typeof value === "number" ? undefined : value.min >= min,
});

export const atMost = (value: Figure, max: number, unit = ""): Goal => ({
  target: `≤ ${grouped(max)}${unit}`,
  isMet: medianOf(value) <= max,
  isMetAlways: typeof value === "number" ? undefined : value.max <= max,
});

export const medianOf = (figure: Figure): number => (typeof figure === "number" ? figure : figure.median);

/** The median of an odd number of figures; of an even number, the upper of the two in the middle. */
export function median(figures: number[]): number {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN;
}

export const spread = (figures: number[]): Spread => ({
  median: median(figures),
  min: Math.min(...figures),
  max: Math.max(...figures),
});

const grouped = (figure: number) => figure.toLocaleString("en-US");
