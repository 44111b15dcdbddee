import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A removed publisher is still there",
  file: "lib/auth/publishers/publishers.ts",
  search: "const { count } = await tx.publisher.deleteMany({ where: { id } });",
  replace: "const { count } = await tx.publisher.updateMany({ where: { id }, data: { lastUsedAt: null } });",
};
