import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "PGlite runs without fsync",
  file: "lib/platform/db/embedded/open.ts",
  search: "SYNCED : PGlite.defaultStartParams",
  replace: "PGlite.defaultStartParams : PGlite.defaultStartParams",
};
