import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "An email to which its former account can return can be registered",
  file: "lib/accounts/register.ts",
  search: `    WHERE NOT \${reservedEmailCondition(email, now)}
`,
  replace: `    WHERE true
`,
};
