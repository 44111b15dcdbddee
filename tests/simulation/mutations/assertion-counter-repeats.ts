import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "An assertion of App Attest is accepted with a counter that was used",
  file: "lib/push/evidence/app-attest.ts",
  search: "if (BigInt(counter) <= given.counter)",
  replace: "if (BigInt(counter) < given.counter)",
};
