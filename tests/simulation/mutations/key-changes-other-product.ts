import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A key of one product changes a release of another one",
  file: "lib/releases/publishing/service-catalog.ts",
  search: "if (!found || !isAccessible(reader.releaseAccess, found))",
  replace: "if (!found)",
};
