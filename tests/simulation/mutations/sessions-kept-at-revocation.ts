import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Ending all sessions leaves their rows live and the epoch as it is",
  file: "lib/auth/sessions/sessions.ts",
  search: `  await tx.account.updateMany({ where: { id: accountId }, data: { sessionEpoch: { increment: 1 } } });
  const { count } = await tx.session.updateMany({ where: { accountId, revokedAt: null }, data: { revokedAt: now } });`,
  replace: `  const count = 0;
  void now;`,
};
