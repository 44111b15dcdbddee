import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Updaters' feeds keep the catalog that they have read first",
  file: "lib/releases/updates/resolve-update.ts",
  search: "  const snapshot = catalog.current();\n",
  replace: `  const kept = catalog as { kept?: ReturnType<Catalog["current"]> };
  kept.kept ??= catalog.current();
  const snapshot = kept.kept;
`,
};
