import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "An account is invited without an email",
  file: "lib/accounts/invitations.ts",
  search: `  await emails.enqueue(tx, "invitation", email);
`,
  replace: "",
};
