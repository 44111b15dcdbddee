import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A phone's key is attested by whoever issues certificates",
  file: "lib/push/evidence/app-attest.ts",
  search: "isIssuedBy(leaf, intermediate) && isIssuedBy(intermediate, root);",
  replace: "isIssuedBy(leaf, intermediate);",
};
