import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A key of one product reads a release of another one",
  file: "lib/releases/publishing/manage-releases.ts",
  search: "if (!release || !isAccessible(reader.releaseAccess, release))",
  replace: "if (!release)",
};
