import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Pruning removes the newest release that all clients receive",
  file: "lib/releases/publishing/remove.ts",
  search: " && !needed.has(release);",
  replace: " && needed.size >= 0;",
};
