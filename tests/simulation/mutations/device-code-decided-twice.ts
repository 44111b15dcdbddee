import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Somebody else can allow a device whose request was decided",
  file: "lib/auth/authorization-server/device-codes.ts",
  search: "accountId: null, deniedAt: null, expiresAt",
  replace: "deniedAt: null, expiresAt",
};
