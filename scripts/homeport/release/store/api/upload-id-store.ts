import { mkdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { writeDurably } from "../../../../../lib/platform/files/durable";

/** Keeps the ids of unfinished uploads between runs. */
export type UploadIdStore = {
  /** The id of the upload that an interrupted run began; null if there is none. */
  get: (name: string) => Promise<string | null>;
  set: (name: string, id: string) => Promise<void>;
  delete: (name: string) => Promise<void>;
};

/** Without a folder that can be written, an interrupted upload begins again. */
export function createUploadIdStore(folder: string): UploadIdStore {
  const fileOf = (name: string) => path.join(folder, name);
  return {
    get: async (name) => {
      const id = await readFile(fileOf(name), "utf8").catch(() => "");
      return /^[\w-]{1,64}$/.test(id) ? id : null;
    },
    set: async (name, id) => {
      await mkdir(folder, { recursive: true, mode: 0o700 })
        .then(() => writeDurably(fileOf(name), id, { mode: 0o600 }))
        .catch(() => {});
    },
    delete: (name) => rm(fileOf(name), { force: true }).catch(() => {}),
  };
}
