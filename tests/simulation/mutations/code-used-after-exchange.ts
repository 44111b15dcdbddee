import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "An authorization code is used up by a read and a later write",
  file: "lib/auth/authorization-server/authorization-codes.ts",
  search: `  const [row] = await ctx.db.authorizationCode.updateManyAndReturn({
    where: { ...where, usedAt: null },
    data: { usedAt: ctx.now() },
  });`,
  replace: `  const row = await ctx.db.authorizationCode.findFirst({ where: { ...where, usedAt: null } });
  if (row) await ctx.db.authorizationCode.updateMany({ where, data: { usedAt: ctx.now() } });`,
};
