import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Retention forgets the receipts of notifications",
  file: "lib/push/worker/maintenance.ts",
  search: "[removeReceipts, removeMessages, removeCounts]",
  replace: "[removeMessages, removeCounts]",
};
