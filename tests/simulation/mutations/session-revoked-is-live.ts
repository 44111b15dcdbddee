import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A revoked session is still accepted",
  file: "lib/auth/sessions/sessions.ts",
  search: `    row?.revokedAt === null &&
`,
  replace: `    row !== undefined &&
`,
};
