import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The event of a grant that was ended is written beside its transaction",
  file: "lib/subscriptions/grants/grants.ts",
  search: `    await recordAccountChange(tx, at, operator, accountId, { type: "grant_ended", reason, details });`,
  replace: `    setImmediate(() => void recordAccountChange(deps.db, at, operator, accountId, { type: "grant_ended", reason, details }).catch(() => {}));`,
};
