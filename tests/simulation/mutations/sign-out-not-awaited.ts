import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Signing out does not wait for the database",
  file: "lib/auth/sessions/sessions.ts",
  search: `  await deps.db.$transaction(async (tx) => {
    await lockAccountForSignOut(tx, sub);`,
  replace: `  void deps.db.$transaction(async (tx) => {
    await lockAccountForSignOut(tx, sub);`,
};
