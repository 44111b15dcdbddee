import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The undoing of a change of email leaves the passkeys that a stranger has added",
  file: "lib/accounts/email-change/undo.ts",
  search: `  await tx.passkey.deleteMany({ where: isNew });
`,
  replace: "",
};
