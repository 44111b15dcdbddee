import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Whoever knows an upload's id can append to it",
  file: "lib/releases/uploads/uploads.ts",
  search: `  requireOwner(await readUpload(folder, id), owner);
  return withUploadLock(`,
  replace: `  await readUpload(folder, id);
  return withUploadLock(`,
};
