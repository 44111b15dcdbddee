import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A release is announced before it is approved",
  file: "lib/releases/publishing/publish-uploads.ts",
  search: `({ id, outcome }) => outcome === "added" && !pending.includes(id)`,
  replace: `({ outcome }) => outcome === "added"`,
};
