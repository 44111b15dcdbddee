import type { Result, Round } from "./race";

/** What a figure has to reach, and whether it did. */
export type Verdict = { wanted: string; met: boolean };

/** One line of the table; null where a figure does not apply. */
export type Row = {
  contender: string;
  throughput: string | null;
  p50Ms: number | null;
  p99Ms: number | null;
  cpuMsPerRequest: number | null;
  memoryMiB: number | null;
  ratio: number | null;
  verdict: Verdict | null;
};

export type Section = { title: string; rows: Row[]; notes?: string[]; results?: Result[] };

/** How throughput is told: `per` units a request. */
type Unit = { name: string; per: number };
const REQUESTS: Unit = { name: "/s", per: 1 };

/** A contender's figures: the medians of its rounds. */
export function toRow(
  result: Result,
  unit = REQUESTS,
  ratio: number | null = null,
  verdict: Verdict | null = null,
): Row {
  const of = (key: keyof Round) => median(result.rounds.map((round) => round[key]));
  return {
    contender: result.contender,
    throughput: `${digits(of("perSecond") * unit.per)} ${unit.name}`,
    p50Ms: of("p50Ms"),
    p99Ms: of("p99Ms"),
    cpuMsPerRequest: of("cpuMsPerRequest"),
    memoryMiB: result.peakMiB,
    ratio,
    verdict,
  };
}

/** The first of the results, then the others with the first's throughput over theirs. `wanted` is by contender. */
export function byThroughput(results: Result[], wanted: Record<string, number> = {}, unit = REQUESTS): Row[] {
  return results.map((result, i) => {
    const [first] = results;
    if (!first || i === 0) return toRow(result, unit);
    const ratio = ratioOf(first, result, "perSecond");
    const least = wanted[result.contender];
    return toRow(result, unit, ratio, least === undefined ? null : atLeast(ratio, least));
  });
}

/** One's figure over another's, round by round; the median of the rounds. */
export function ratioOf(one: Result, other: Result, key: keyof Round): number {
  return median(one.rounds.map((round, i) => round[key] / (other.rounds[i]?.[key] ?? Number.NaN)));
}

export const atLeast = (value: number, least: number, unit = ""): Verdict => ({
  wanted: `≥ ${least}${unit}`,
  met: value >= least,
});

export const atMost = (value: number, most: number, unit = ""): Verdict => ({
  wanted: `≤ ${most}${unit}`,
  met: value <= most,
});

/** The middle one of an odd number of figures. */
export function median(figures: number[]): number {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN;
}

/** All sections as one Markdown table, their notes below it. */
export function markdown(sections: Section[]): string {
  const head = [
    ["workload", "contender", "throughput", "p50 ms", "p99 ms", "CPU ms/request", "RSS MiB", "ratio", "wanted", "met"],
    ["---", "---", "---:", "---:", "---:", "---:", "---:", "---:", "---", "---"],
  ];
  const body = sections.flatMap(({ title, rows }) => rows.map((row, i) => [i === 0 ? title : "", ...cells(row)]));
  const notes = sections.flatMap((section) => (section.notes ?? []).map((note) => `- ${section.title}: ${note}`));
  const table = [...head, ...body].map((line) => `| ${line.join(" | ")} |`);
  return [...table, ...(notes.length > 0 ? ["", ...notes] : [])].join("\n");
}

function cells({ contender, throughput, p50Ms, p99Ms, cpuMsPerRequest, memoryMiB, ratio, verdict }: Row): string[] {
  const figures = [p50Ms, p99Ms, cpuMsPerRequest, memoryMiB, ratio].map((figure) =>
    figure === null ? "" : digits(figure),
  );
  return [contender, throughput ?? "", ...figures, verdict?.wanted ?? "", verdict ? (verdict.met ? "yes" : "no") : ""];
}

/** Three digits that count, and no exponent. */
function digits(figure: number): string {
  return figure >= 100 ? String(Math.round(figure)) : String(Number(figure.toPrecision(3)));
}
