import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The outcomes of notifications are dropped if they cannot be stored",
  file: "lib/push/worker/outcome-buffer.ts",
  search: `        await recordOutcomes(deps, batch);
        outcomes = outcomes.slice(batch.length);
`,
  replace: `        outcomes = outcomes.slice(batch.length);
        await recordOutcomes(deps, batch);
`,
};
