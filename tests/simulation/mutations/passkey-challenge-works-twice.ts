import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "One assertion of a passkey signs in twice",
  file: "lib/auth/passkeys/ceremony.ts",
  search: `  if (count === 0) throw passkeyInvalid("challenge_invalid");`,
  replace: `  if (count < 0) throw passkeyInvalid("challenge_invalid");`,
};
