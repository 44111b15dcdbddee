import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A removed passkey still signs in",
  file: "lib/accounts/sign-in-methods/passkeys.ts",
  search: `    await tx.passkey.delete({ where: { id: passkeyId } });
`,
  replace: "",
};
