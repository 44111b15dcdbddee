import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The removal of a passkey leaves the sessions of a lost device",
  file: "lib/accounts/sign-in-methods/passkeys.ts",
  search: `    await revokeOtherSessionsInTx(ctx, tx, accountId, principal.session.id, caller);
`,
  replace: "",
};
