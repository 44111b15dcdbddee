import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A session of another account can be ended",
  file: "lib/accounts/sessions.ts",
  search: `  if (!sessions.some(({ id }) => id === sessionId)) throw new AppError("not_found");`,
  replace: `  if (sessions.length === 0) throw new AppError("not_found");`,
};
