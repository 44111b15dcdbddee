import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The event of a revoked key is written after the commit",
  file: "lib/auth/api-keys/keys.ts",
  search: `    if (count === 0) return;
    await recordOperatorEvent(tx, at, operator,`,
  replace: `    if (count === 0) return;
    setImmediate(() => void recordOperatorEvent(db, at, operator, { type: "key_revoked", target: \`key:\${id}\`, details: key }).catch(() => {}));
    if (false as boolean) await recordOperatorEvent(tx, at, operator,`,
};
