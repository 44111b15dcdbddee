import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A mirror's feed is written before the files that it names",
  file: "lib/releases/mirror/mirror.ts",
  search:
    "  const isPresent = (path: string, { artifact }: MirrorFile) => state.known.get(path)?.sha256 === artifact.sha256;",
  replace: "  const isPresent = (path: string, { artifact }: MirrorFile) => artifact.sha256 !== path;",
};
