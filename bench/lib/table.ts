import type { Result, Round } from "./compare";

/** A target for a figure, and whether it is met. */
export type Goal = { target: string; isMet: boolean };

/** One row of the table. A figure that does not apply is null. */
export type Row = {
  candidate: string;
  throughput: string | null;
  p50Ms: number | null;
  p99Ms: number | null;
  cpuMsPerRequest: number | null;
  memoryMiB: number | null;
  ratio: number | null;
  goal: Goal | null;
};

export type Section = { title: string; rows: Row[]; notes?: string[]; results?: Result[] };

/** The unit of throughput: `per` units a request. */
type Unit = { name: string; per: number };
const REQUESTS: Unit = { name: "/s", per: 1 };

/** A candidate's figures: the medians of its rounds. */
export function toRow(result: Result, unit = REQUESTS, ratio: number | null = null, goal: Goal | null = null): Row {
  const of = (key: keyof Round) => median(result.rounds.map((round) => round[key]));
  return {
    candidate: result.candidate,
    throughput: `${digits(of("perSecond") * unit.per)} ${unit.name}`,
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
    const ratio = ratioOf(first, result, "perSecond");
    const target = targets[result.candidate];
    return toRow(result, unit, ratio, target === undefined ? null : atLeast(ratio, target));
  });
}

/** The median, over the rounds, of one candidate's figure divided by the other's. */
export function ratioOf(one: Result, other: Result, key: keyof Round): number {
  return median(one.rounds.map((round, i) => round[key] / (other.rounds[i]?.[key] ?? Number.NaN)));
}

export const atLeast = (value: number, min: number, unit = ""): Goal => ({
  target: `≥ ${min}${unit}`,
  isMet: value >= min,
});

export const atMost = (value: number, max: number, unit = ""): Goal => ({
  target: `≤ ${max}${unit}`,
  isMet: value <= max,
});

/** The median of an odd number of figures. */
export function median(figures: number[]): number {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN;
}

/** Renders all sections as one Markdown table, followed by their notes. */
export function markdown(sections: Section[]): string {
  const head = [
    ["workload", "server", "throughput", "p50 ms", "p99 ms", "CPU ms/request", "RSS MiB", "ratio", "target", "met"],
    ["---", "---", "---:", "---:", "---:", "---:", "---:", "---:", "---", "---"],
  ];
  const body = sections.flatMap(({ title, rows }) => rows.map((row, i) => [i === 0 ? title : "", ...cells(row)]));
  const notes = sections.flatMap((section) => (section.notes ?? []).map((note) => `- ${section.title}: ${note}`));
  const table = [...head, ...body].map((line) => `| ${line.join(" | ")} |`);
  return [...table, ...(notes.length > 0 ? ["", ...notes] : [])].join("\n");
}

function cells({ candidate, throughput, p50Ms, p99Ms, cpuMsPerRequest, memoryMiB, ratio, goal }: Row): string[] {
  const figures = [p50Ms, p99Ms, cpuMsPerRequest, memoryMiB, ratio].map((figure) =>
    figure === null ? "" : digits(figure),
  );
  return [candidate, throughput ?? "", ...figures, goal?.target ?? "", goal ? (goal.isMet ? "yes" : "no") : ""];
}

/** Three significant digits without an exponent. */
function digits(figure: number): string {
  return figure >= 100 ? String(Math.round(figure)) : String(Number(figure.toPrecision(3)));
}
