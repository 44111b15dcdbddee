import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Reports of updates that could not be stored are not kept",
  file: "lib/releases/rollouts/update-report-counts.ts",
  search: `      for (const { key, reports } of taken) add(key, reports);
`,
  replace: "",
};
