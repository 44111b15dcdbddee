import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The embedded database is changed while it is backed up",
  file: "lib/platform/db/embedded/copy-session.ts",
  search: "  const resume = await gate.pause();",
  replace: "  const resume = () => void gate;",
};
