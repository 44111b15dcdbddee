import { scaleBand, scaleLinear, scalePoint } from "d3-scale";
import { area, line, stack } from "d3-shape";
import { formatCompact } from "./format-numbers";

/** One value for each label of the chart. null: there is none. */
export type Series = { name: string; values: readonly (number | null)[] };

/** The position of each tick of an axis, with its text, and the columns below which a pointer finds the values of a label. */
export type ChartLayout = ReturnType<typeof layoutOf>;

/** The size of a chart, and the edges of its plot. */
export const CHART = { width: 480, height: 170, left: 40, right: 474, top: 8, bottom: 148 };
const MAX_X_TICKS = 5;
const Y_TICKS = 3;

/** Lines over the labels, from zero. The first series also has an area, which shows where zero is. */
export function layOutLines(labels: readonly string[], series: readonly Series[]) {
  const y = scaleFromZero(Math.max(...series.flatMap(({ values }) => values.map((value) => value ?? 0))));
  const x = scalePoint<number>([...labels.keys()], [CHART.left, CHART.right]);
  const xOf = (_: unknown, i: number) => x(i) ?? 0;
  const isDefined = (value: number | null) => value !== null;
  const path = line<number | null>(xOf, (value) => y(value ?? 0)).defined(isDefined);
  const fill = area<number | null>(xOf, y(0), (value) => y(value ?? 0)).defined(isDefined);
  return {
    ...layoutOf(labels, y, (i) => x(i) ?? 0, labels.length > 1 ? x.step() : CHART.right - CHART.left),
    lines: series.map(({ values }) => path([...values]) ?? ""),
    area: fill([...(series[0]?.values ?? [])]) ?? "",
  };
}

export function layOutBars(labels: readonly string[], series: readonly Series[]) {
  const rows = labels.map((_, i) => Object.fromEntries(series.map(({ name, values }) => [name, values[i] ?? 0])));
  const stacked = stack().keys(series.map(({ name }) => name))(rows);
  const y = scaleFromZero(Math.max(...stacked.flatMap((one) => one.map(([, top]) => top))));
  const x = scaleBand<number>([...labels.keys()], [CHART.left, CHART.right]).padding(0.25);
  return {
    ...layoutOf(labels, y, (i) => (x(i) ?? 0) + x.bandwidth() / 2, x.step()),
    bars: stacked.map((one) =>
      one.map(([bottom, top], i) => ({ x: x(i) ?? 0, y: y(top), width: x.bandwidth(), height: y(bottom) - y(top) })),
    ),
  };
}

function scaleFromZero(max: number) {
  return scaleLinear([0, Math.max(max, Y_TICKS + 1)], [CHART.bottom, CHART.top]).nice(Y_TICKS);
}

/** `middleOf` is the middle of the column of a label. */
function layoutOf(
  labels: readonly string[],
  y: ReturnType<typeof scaleFromZero>,
  middleOf: (i: number) => number,
  width: number,
) {
  const every = Math.max(1, Math.ceil((labels.length - 1) / (MAX_X_TICKS - 1)));
  // From the end: the newest label has a tick.
  const ticked = [...labels.keys()].filter((i) => (labels.length - 1 - i) % every === 0);
  return {
    xTicks: ticked.map((i) => ({ at: middleOf(i), text: labels[i] ?? "" })),
    yTicks: y.ticks(Y_TICKS).map((value) => ({ at: y(value), text: formatCompact(value) })),
    columns: labels.map((_, i) => ({ x: middleOf(i) - width / 2, width })),
  };
}
