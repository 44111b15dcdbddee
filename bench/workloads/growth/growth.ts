import type { Bench } from "../../lib/bench";
import { isSmoke, MAX_ROWS } from "../../lib/scale";
import type { Curve, Section } from "../../lib/table";
import { billingGrowth } from "./billing";
import type { Growth } from "./growing-tables";
import { pushGrowth } from "./push";

const SIZES = isSmoke ? [10_000, 20_000] : [10_000, 100_000, 1_000_000, 10_000_000].filter((size) => size <= MAX_ROWS);

/** The latency of single requests as the tables that they read and write grow. */
export async function growth(bench: Bench): Promise<Section> {
  const failures: string[] = [];
  const curves: Curve[] = [];
  for (const tables of [pushGrowth(bench), billingGrowth(bench)]) {
    const added = tables.curves.map((curve): Curve => ({ ...curve, points: [] }));
    curves.unshift(...added);
    await plotAll(tables, added, failures).catch((error: Error) => failures.push(`growth failed: ${error.message}`));
  }
  const rows = curves.flatMap(({ title, rows: unit, points }) =>
    points.map(({ size, ...latency }) => ({ candidate: `${title}, ${thousands(size)} ${unit}`, ...latency })),
  );
  return { title: "one at a time", rows, curves, failures };
}

async function plotAll({ grow, measure }: Growth, curves: Curve[], failures: string[]): Promise<void> {
  const names = curves.map(({ name }) => name).join(", ");
  for (const [i, size] of SIZES.entries()) {
    const startedAt = performance.now();
    const seconds = () => ((performance.now() - startedAt) / 1000).toFixed(0);
    await grow(SIZES[i - 1] ?? 0, size);
    console.error(`growth: ${thousands(size)} rows for ${names} loaded after ${seconds()} s`);
    await measure(size, async (name, measureOne) => {
      const curve = curves.find((one) => one.name === name);
      if (!curve || curve.points.length < i) return;
      try {
        curve.points.push({ size, ...(await measureOne()) });
      } catch (error) {
        failures.push(`growth: ${name} failed with ${thousands(size)} rows: ${(error as Error).message}`);
      }
    });
    console.error(`growth: ${thousands(size)} rows for ${names} measured after ${seconds()} s`);
  }
}

const thousands = (count: number) => count.toLocaleString("en-US");
