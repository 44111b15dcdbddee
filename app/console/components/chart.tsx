import type { ReactNode } from "react";
import { CHART, type ChartLayout, layOutBars, layOutLines, type Series } from "./chart-layout";
import { formatCount } from "./format-numbers";
import { EmptyState } from "./states";

/** `labels`: one for each value of the series, such as days. Four series at most. */
type Props = { title: string; labels: readonly string[]; series: readonly Series[] };

/** Values over time, drawn on the server without inline styles. A table with them is behind the chart. */
export function LineChart(props: Props) {
  const layout = layOutLines(props.labels, props.series);
  return (
    <Chart {...props} layout={layout}>
      <path className="area s1" d={layout.area} />
      {layout.lines.map((path, i) => (
        <path key={props.series[i]?.name} className={`line s${i + 1}`} d={path} />
      ))}
    </Chart>
  );
}

/** Sums of several series over time, as stacked bars. */
export function BarChart(props: Props) {
  const layout = layOutBars(props.labels, props.series);
  return (
    <Chart {...props} layout={layout} isFilled>
      {layout.bars.map((bars, i) => (
        <g key={props.series[i]?.name} className={`bar s${i + 1}`}>
          {bars.map((bar) => (
            <rect key={bar.x} {...bar} />
          ))}
        </g>
      ))}
    </Chart>
  );
}

type ChartProps = Props & { layout: ChartLayout; isFilled?: boolean; children: ReactNode };

function Chart({ title, labels, series, layout, isFilled = false, children }: ChartProps) {
  const { width, height, left, right, top, bottom } = CHART;
  const { xTicks, yTicks, columns } = layout;
  const given = series.flatMap(({ values }) => values).filter((value) => value !== null);
  if (given.length === 0) return <EmptyState title="Nothing is counted yet" />;
  if (given.every((value) => value === 0)) return <EmptyState title="None in this period" />;
  return (
    <figure className="chart">
      <Legend series={series} isFilled={isFilled} />
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${title}. The table below has the values.`}>
        {yTicks.map(({ at, text }) => (
          <g key={text}>
            <line className="rule" x1={left} x2={right} y1={at} y2={at} />
            <text x={left - 6} y={at} dy="0.32em" textAnchor="end">
              {text}
            </text>
          </g>
        ))}
        {xTicks.map(({ at, text }, i) => (
          <text key={text} x={at} y={height - 6} textAnchor={anchorOf(i, xTicks.length)}>
            {text}
          </text>
        ))}
        {children}
        {columns.map((column, i) => (
          <rect key={labels[i]} className="column" {...column} y={top} height={bottom - top}>
            <title>
              {[labels[i], ...series.map(({ name, values }) => `${name}: ${textOf(values[i])}`)].join("\n")}
            </title>
          </rect>
        ))}
      </svg>
      <ChartTable title={title} labels={labels} series={series} />
    </figure>
  );
}

const textOf = (value: number | null | undefined) => (value === null || value === undefined ? "–" : formatCount(value));

/** The last label ends at the edge of the plot, and so does the first. */
function anchorOf(i: number, count: number): "start" | "middle" | "end" {
  if (i === count - 1) return "end";
  return i === 0 ? "start" : "middle";
}

function Legend({ series, isFilled }: { series: readonly Series[]; isFilled: boolean }) {
  if (series.length < 2) return null;
  return (
    <figcaption>
      {series.map(({ name }, i) => (
        <span key={name} className="key">
          <svg viewBox="0 0 18 12" aria-hidden="true">
            {isFilled ? (
              <rect className={`bar s${i + 1}`} x="3" y="1" width="12" height="10" />
            ) : (
              <path className={`line s${i + 1}`} d="M0 6h18" />
            )}
          </svg>
          {name}
        </span>
      ))}
    </figcaption>
  );
}

function ChartTable({ title, labels, series }: Props) {
  return (
    <details>
      <summary>Table</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls a region that has the focus. */}
      <section className="chart-data" aria-label={`${title}, table`} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Time (UTC)</th>
              {series.map(({ name }) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {labels.map((label, i) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                {series.map(({ name, values }) => (
                  <td key={name}>{textOf(values[i])}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}
