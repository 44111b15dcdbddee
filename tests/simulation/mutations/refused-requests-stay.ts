import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A request that was refused stays in memory",
  file: "lib/platform/http/route.ts",
  search: `  const visible = toAppError(error);`,
  replace: `  const visible = toAppError(error);
  (globalThis.refused ??= []).push(scope);`,
};
