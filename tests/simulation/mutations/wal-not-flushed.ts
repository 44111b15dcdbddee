import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A commit is acknowledged before the log is on the disk",
  file: "lib/platform/db/embedded/open.ts",
  search: "    after: () => wal.flushed(),",
  replace: "    after: async () => {},",
};
