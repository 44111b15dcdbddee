import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Backups that the settings do not keep are not removed",
  file: "lib/platform/backup/schedule.ts",
  search: "  for (const name of expired) await store.remove(name);",
  replace: "  for (const name of expired.slice(4)) await store.remove(name);",
};
