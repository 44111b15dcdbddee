import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A device key's signature is not verified",
  file: "lib/push/evidence/verify.ts",
  search: 'if (!key || !verify("sha256", clientData, key, Buffer.from(signature, "base64"))) {',
  replace: "if (!key) {",
};
