import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A provider that does not answer counts as asked",
  file: "lib/subscriptions/reconcile/sweep.ts",
  search: `    await fail(deps, source, claim, error as Error);`,
  replace: `    await finish(deps, source, claim, 0);
    void [fail, error];`,
};
