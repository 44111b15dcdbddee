import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A session of any age adds a provider",
  file: "lib/auth/sign-in-providers/link-or-create-account.ts",
  search: `    return linkingSession.isFresh ? { action: "link", accountId }`,
  replace: `    return true ? { action: "link", accountId }`,
};
