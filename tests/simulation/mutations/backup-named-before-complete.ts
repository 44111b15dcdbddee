import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A backup has its name before it is complete",
  file: "lib/platform/backup/store.ts",
  search: `      const sizeBytes = await writeChunks(temporary, chunks, 0o600);
      await moveDurably(temporary, path.join(folder, name));`,
  replace: "      const sizeBytes = await writeChunks(path.join(folder, name), chunks, 0o600);",
};
