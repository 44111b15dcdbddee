import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The file that a backup for a bucket is first written to stays in the data folder",
  file: "lib/platform/backup/create-backup.ts",
  search: "    await rm(file, { force: true });",
  replace: "    if (file === name) await rm(file, { force: true });",
};
