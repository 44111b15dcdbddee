import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A key is created without an event",
  file: "lib/auth/api-keys/keys.ts",
  search: `    await recordOperatorEvent(tx, at, operator, { type: "key_created", target: \`key:\${id}\`, details });
`,
  replace: `    void details;
`,
};
