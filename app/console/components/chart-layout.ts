import { scaleBand, scaleLinear, scalePoint } from "d3-scale";
import { area, line, stack } from "d3-shape";

/** One value for each label of the chart. null: there is none. */
export type Series = { name: string; values: readonly (number | null)[] };

/** A tick of an axis: its position, and its text. */
type Tick = { at: number; text: string };

export type ChartLayout = {
  width: number;
  height: number;
  plot: { left: number; right: number; top: number; bottom: number };
  xTicks: Tick[];
  yTicks: Tick[];
  /** The columns below which a pointer finds the values of a label. */
  columns: { x: number; width: number }[];
};

const WIDTH = 480;
const HEIGHT = 170;
const PLOT = { left: 40, right: WIDTH - 6, top: 8, bottom: HEIGHT - 22 };
const MAX_X_TICKS = 5;
const Y_TICKS = 3;

/** Lines over the labels, from zero. The first series also has an area, which shows where zero is. */
export function layOutLines(labels: readonly string[], series: readonly Series[], format: (value: number) => string) {
  const y = scaleFromZero(Math.max(...series.flatMap(({ values }) => values.map((value) => value ?? 0))));
  const x = scalePoint<number>([...labels.keys()], [PLOT.left, PLOT.right]);
  const xOf = (_: unknown, i: number) => x(i) ?? 0;
  const isDefined = (value: number | null) => value !== null;
  const path = line<number | null>(xOf, (value) => y(value ?? 0)).defined(isDefined);
  const fill = area<number | null>(xOf, y(0), (value) => y(value ?? 0)).defined(isDefined);
  const step = labels.length > 1 ? x.step() : PLOT.right - PLOT.left;
  return {
    ...layoutOf(labels, y, format, (i) => x(i) ?? 0),
    columns: labels.map((_, i) => ({ x: (x(i) ?? 0) - step / 2, width: step })),
    lines: series.map(({ values }) => path([...values]) ?? ""),
    area: fill([...(series[0]?.values ?? [])]) ?? "",
  };
}

export function layOutBars(labels: readonly string[], series: readonly Series[], format: (value: number) => string) {
  const rows = labels.map((_, i) => Object.fromEntries(series.map(({ name, values }) => [name, values[i] ?? 0])));
  const stacked = stack().keys(series.map(({ name }) => name))(rows);
  const y = scaleFromZero(Math.max(...stacked.flatMap((one) => one.map(([, top]) => top))));
  const x = scaleBand<number>([...labels.keys()], [PLOT.left, PLOT.right]).padding(0.25);
  const middle = (i: number) => (x(i) ?? 0) + x.bandwidth() / 2;
  return {
    ...layoutOf(labels, y, format, middle),
    columns: labels.map((_, i) => ({ x: (x(i) ?? 0) - (x.step() - x.bandwidth()) / 2, width: x.step() })),
    bars: stacked.map((one) =>
      one.map(([bottom, top], i) => ({ x: x(i) ?? 0, y: y(top), width: x.bandwidth(), height: y(bottom) - y(top) })),
    ),
  };
}

function scaleFromZero(max: number) {
  return scaleLinear([0, Math.max(max, Y_TICKS + 1)], [PLOT.bottom, PLOT.top]).nice(Y_TICKS);
}

function layoutOf(
  labels: readonly string[],
  y: ReturnType<typeof scaleFromZero>,
  format: (value: number) => string,
  xOf: (i: number) => number,
): Omit<ChartLayout, "columns"> {
  const every = Math.max(1, Math.ceil((labels.length - 1) / (MAX_X_TICKS - 1)));
  // From the end: the newest label has a tick.
  const ticked = [...labels.keys()].filter((i) => (labels.length - 1 - i) % every === 0);
  return {
    width: WIDTH,
    height: HEIGHT,
    plot: PLOT,
    xTicks: ticked.map((i) => ({ at: xOf(i), text: labels[i] ?? "" })),
    yTicks: y.ticks(Y_TICKS).map((value) => ({ at: y(value), text: format(value) })),
  };
}
