import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A device code works again",
  file: "lib/auth/authorization-server/device-codes.ts",
  search: '  if ((await use({ usedAt: null })).count === 0) throw new AppError("invalid_grant");',
  replace: "  await use({});",
};
