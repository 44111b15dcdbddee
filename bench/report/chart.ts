import { type ScaleLogarithmic, scaleLog } from "d3-scale";
import { type Curve, type Latency, medianOf } from "../lib/table";
import { digits } from "./markdown";

const WIDTH = 440;
const HEIGHT = 280;
const PLOT = { left: 56, right: 388, top: 48, bottom: 228 };
/** The series, the slower one first, and whether its labels are above the line. */
const SERIES: { key: keyof Latency; name: string; isAbove: boolean }[] = [
  { key: "p99Ms", name: "p99", isAbove: true },
  { key: "p50Ms", name: "median", isAbove: false },
];

/** Readable on a light and on a dark page: the image brings its own background. */
const STYLE = `
  .page { fill: #ffffff } .text { fill: #1f2328 } .quiet { fill: #59636e } .grid { stroke: #d1d9e0 }
  .p50Ms { color: #0969da } .p99Ms { color: #bc4c00 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .text { fill: #f0f6fc } .quiet { fill: #9198a1 } .grid { stroke: #3d444d }
    .p50Ms { color: #4493f8 } .p99Ms { color: #f0883e }
  }
  text { font: 11px system-ui, sans-serif } .title { font-size: 13px; font-weight: 600 }
  .line { fill: none; stroke: currentColor; stroke-width: 2 }
  .mark { fill: currentColor }`;

type Scale = ScaleLogarithmic<number, number>;

/** Draws latencies by number of rows, both on logarithmic scales, as SVG. */
export function chart({ title, rows, points }: Curve): string {
  const all = points.flatMap(({ p50Ms, p99Ms }) => [medianOf(p50Ms), medianOf(p99Ms)]);
  const ticks = ticksOf(Math.min(...all), Math.max(...all));
  const sizes = points.map(({ size }) => size);
  const x = scaleLog([Math.min(...sizes), Math.max(...sizes)], [PLOT.left + 28, PLOT.right - 24]);
  const y = scaleLog([Math.min(...ticks), Math.max(...ticks)], [PLOT.bottom, PLOT.top]);
  const summary = SERIES.map(
    ({ key, name }) => `${name} ${points.map((point) => digits(medianOf(point[key]))).join(", ")}`,
  );
  const parts = [
    `<title>${title}: milliseconds by number of ${rows}. ${summary.join("; ")}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="page" width="${WIDTH}" height="${HEIGHT}" rx="6"/>`,
    text(16, 24, title, "text title"),
    ...ticks.map((tick) => yTick(tick, y(tick))),
    text(16, 40, "ms", "quiet"),
    ...points.map(({ size }) => text(x(size), PLOT.bottom + 18, size.toLocaleString("en-US"), "quiet", "middle")),
    text((PLOT.left + PLOT.right) / 2, HEIGHT - 14, rows, "quiet", "middle"),
    ...SERIES.map(({ key, name, isAbove }) => {
      const shown = points.map((point): [number, number] => [point.size, medianOf(point[key])]);
      return series(shown, x, y, key, name, isAbove);
    }),
  ];
  const size = `width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">\n${parts.join("\n")}\n</svg>\n`;
}

function series(points: [number, number][], x: Scale, y: Scale, key: string, name: string, isAbove: boolean): string {
  const line = points.map(([size, ms]) => `${round(x(size))},${round(y(ms))}`).join(" ");
  const marks = points.map(([size, ms]) => {
    const [at, center] = [round(x(size)), round(y(ms))];
    const mark = `<circle class="mark" cx="${at}" cy="${center}" r="3"/>`;
    return `${mark}${text(at, center + (isAbove ? -8 : 16), digits(ms), "mark", "middle")}`;
  });
  const [, last] = points.at(-1) ?? [0, 1];
  const label = text(PLOT.right + 4, y(last) + (isAbove ? 0 : 9), name, "mark");
  return `<g class="${key}"><polyline class="line" points="${line}"/>${marks.join("")}${label}</g>`;
}

function yTick(tick: number, at: number): string {
  const line = `<line class="grid" x1="${PLOT.left}" x2="${PLOT.right}" y1="${round(at)}" y2="${round(at)}"/>`;
  return line + text(PLOT.left - 8, at + 4, digits(tick), "quiet", "end");
}

/** Powers of ten from below `min` to above `max`; up to two decades also their double and quintuple. */
function ticksOf(min: number, max: number): number[] {
  const [low, high] = [Math.floor(Math.log10(min)), Math.ceil(Math.log10(max))];
  const decades = Array.from({ length: Math.max(high - low, 1) + 1 }, (_, i) => 10 ** (low + i));
  if (decades.length > 3) return decades;
  const fine = decades.flatMap((decade, i) => (i === decades.length - 1 ? [decade] : [decade, decade * 2, decade * 5]));
  const first = fine.findLastIndex((tick) => tick <= min);
  const last = fine.findIndex((tick) => tick >= max);
  return fine.slice(Math.max(first, 0), last === -1 ? undefined : Math.max(last, first + 1) + 1);
}

function text(x: number, y: number, content: string, kind: string, anchor = "start"): string {
  return `<text class="${kind}" x="${round(x)}" y="${round(y)}" text-anchor="${anchor}">${content}</text>`;
}

const round = (value: number) => Math.round(value * 10) / 10;
