import { createS3Files } from "../adapters/s3-files";
import type { Bucket } from "../adapters/s3-url";
import type { BackupStore } from "./backup-store";

/** Backups in a bucket, below a prefix. */
export function createS3Store(bucket: Bucket, prefix: string): BackupStore {
  const files = createS3Files(bucket);
  const folder = prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`;
  return {
    isRemote: true,
    write: (name, chunks) => files.write(`${folder}${name}`, chunks),
    read: (name) => files.read(`${folder}${name}`),
    list: async () => (await files.list(folder)).map((key) => key.slice(folder.length)),
    remove: (name) => files.remove(`${folder}${name}`),
  };
}
