import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Turning a kind of notification off leaves what is queued",
  file: "lib/push/preferences.ts",
  search: "    if (mutedKinds.length > 0) await cancelKinds(tx, locked.now, accountId, mutedKinds);",
  replace:
    "    if (mutedKinds.length > OPTIONAL_KINDS.length) await cancelKinds(tx, locked.now, accountId, mutedKinds);",
};
