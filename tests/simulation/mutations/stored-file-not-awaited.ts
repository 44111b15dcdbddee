import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A release is published before the object storage has taken its file",
  file: "lib/releases/publishing/add.ts",
  search: "await deps.storage.put({ key, sizeBytes, sha256, contentType, bytes }).catch(notStored);",
  replace: "void deps.storage.put({ key, sizeBytes, sha256, contentType, bytes }).catch(() => {});",
};
