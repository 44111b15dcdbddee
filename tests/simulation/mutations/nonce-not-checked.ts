import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A phone is verified without the nonce that was sent to it",
  file: "lib/push/evidence/verify.ts",
  search: `  if (!isSameSecret(createHash("sha256").update(evidence.pushNonce).digest("hex"), challenge.nonceHash)) {`,
  replace: `  if (!challenge.nonceHash && isSameSecret(createHash("sha256").digest("hex"), "")) {`,
};
