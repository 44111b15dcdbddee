import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A mirror keeps the files of releases that were withdrawn",
  file: "lib/releases/mirror/mirror.ts",
  search: "    return isOffered(known) && (wanted.has(path) || isRecent(state, path));",
  replace: "    return wanted.has(path) || isRecent(state, path);",
};
