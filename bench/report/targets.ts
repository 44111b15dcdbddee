import type { Section } from "../lib/table";
import type { Published } from "./published";

/** Lists the targets of workloads that differ from the published ones. Rows that were left out are not compared. */
export function changedTargets(sections: Record<string, Section>, published: Published): string[] {
  return Object.entries(sections).flatMap(([name, { rows }]) => {
    const shown = published[name]?.rows ?? [];
    return rows.flatMap(({ candidate, goal }) => {
      const row = shown.find((other) => other.candidate === candidate);
      if (!row || row.goal?.target === goal?.target) return [];
      return [`${name}, ${candidate}: the workload declares ${goal?.target}, docs/performance.md ${row.goal?.target}`];
    });
  });
}
