import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Pages are written before the log of their changes is synced",
  file: "lib/platform/db/embedded/embedded-fs.ts",
  search: "isInLog(node) || wal.flushNow();",
  replace: "isInLog(node);",
};
