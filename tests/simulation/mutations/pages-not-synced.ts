import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A checkpoint does not sync the pages that it has written",
  file: "lib/platform/db/embedded/embedded-fs.ts",
  search: `    else wal.syncFile(nfd);
`,
  replace: `    else if (nfd < 0) wal.syncFile(nfd);
`,
};
