import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Retention forgets the changes of the email",
  file: "lib/auth/remove-expired-rows.ts",
  search: `    deleteBatch("EmailChange", "id", expired, "expiresAt"),
`,
  replace: ``,
};
