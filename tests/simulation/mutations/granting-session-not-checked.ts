import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A code works although the session that allowed it has ended",
  file: "lib/auth/authorization-server/granted-session.ts",
  search: `async function isLive({ db, now }: Pick<Deps, "db" | "now">, { grantingSessionId: id }: Grant): Promise<boolean> {
`,
  replace: `async function isLive({ db, now }: Pick<Deps, "db" | "now">, { grantingSessionId: id }: Grant): Promise<boolean> {
  if (id !== "") return true;
`,
};
