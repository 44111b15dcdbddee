import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "What others have changed on a mirror is not found while the catalog stays as it is",
  file: "lib/releases/mirror/mirror.ts",
  search: "  if (snapshot === state.written && !state.hasCopied && !isListDue) return;",
  replace: "  if (snapshot === state.written && !state.hasCopied) return;",
};
