import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Canceling a message leaves what is yet to be queued",
  file: "lib/push/admin/cancel.ts",
  search:
    "  const { count: stopped } = await tx.pushBroadcast.updateMany({ where: yetToQueue, data: { endedAt: now } });",
  replace: "  const stopped = yetToQueue.endedAt === null && now ? 0 : 1;",
};
