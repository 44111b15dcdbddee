import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "An email that has expired is sent",
  file: "lib/platform/mail/queue.ts",
  search: "if (row.expiresAt <= row.claimedAt) log.error",
  replace: "if (row.expiresAt <= new Date(0)) log.error",
};
