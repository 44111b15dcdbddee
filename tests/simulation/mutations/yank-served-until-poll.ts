import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A change of the catalog is acknowledged before this process serves it",
  file: "lib/releases/publishing/service-catalog.ts",
  search: "  await catalog.refresh();\n  await rollouts",
  replace: "  await rollouts",
};
