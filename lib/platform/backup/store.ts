import { createReadStream } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import path from "node:path";
import { AppError } from "../../errors";
import type { Bucket } from "../adapters/s3";
import { createS3Files } from "../adapters/s3-files";
import type { Config } from "../config";
import { makeFolder, moveDurably, removeOldFiles, writeChunks } from "../files/durable";

export type BackupStore = {
  /** Whether it is reached over the network, and may be slow or not answer. */
  isRemote: boolean;
  /** Stores a backup. Until it is complete and durable, nothing has its name. Returns its size in bytes. */
  write: (name: string, chunks: AsyncIterable<Uint8Array>) => Promise<number>;
  /** Reads a backup. @throws Error if it cannot be read */
  read: (name: string) => AsyncIterable<Uint8Array>;
  list: () => Promise<string[]>;
  remove: (name: string) => Promise<void>;
};

/** The ending of an unfinished file. */
export const PARTIAL = ".partial";

/** Backups in a folder, which is created. Files are readable by their owner alone. */
function createFolderStore(folder: string): BackupStore {
  return {
    isRemote: false,
    write: async (name, chunks) => {
      await makeFolder(folder, 0o700);
      await removeOldFiles(folder, PARTIALS);
      const temporary = path.join(folder, `${name}${PARTIAL}`);
      const sizeBytes = await writeChunks(temporary, chunks, 0o600);
      await moveDurably(temporary, path.join(folder, name));
      return sizeBytes;
    },
    read: (name) => createReadStream(path.join(folder, name)),
    list: () => readdir(folder),
    remove: (name) => rm(path.join(folder, name)),
  };
}

/** The names of unfinished files, and of all files. */
export const PARTIALS = /^homeport-.*\.backup\.partial$/;
export const COPIES = /^homeport-.*\.backup(\.partial)?$/;

/**
 * Opens `s3://BUCKET/PREFIX`, or a folder.
 * @throws AppError backup_not_configured for a bucket without BACKUP_S3_ENDPOINT and its keys
 */
export function openStore(config: Config, to: string): BackupStore {
  const [bucket, ...prefix] = to.startsWith("s3://") ? to.slice("s3://".length).split("/") : [];
  if (!bucket) return createFolderStore(to);
  const { BACKUP_S3_ENDPOINT: endpoint, BACKUP_S3_REGION: region } = config;
  const { BACKUP_S3_ACCESS_KEY_ID: accessKeyId, BACKUP_S3_SECRET_ACCESS_KEY: secretAccessKey } = config;
  if (!endpoint || !region || !accessKeyId || !secretAccessKey) {
    throw new AppError(
      "backup_not_configured",
      "A bucket requires BACKUP_S3_ENDPOINT, BACKUP_S3_REGION, BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY.",
    );
  }
  return createS3Store({ endpoint, bucket, region, accessKeyId, secretAccessKey }, prefix.join("/"));
}

/** Returns what reads a backup at `s3://BUCKET/PREFIX/FILE` or in a folder. @throws AppError backup_not_configured */
export function backupReader(config: Config, file: string): () => AsyncIterable<Uint8Array> {
  const { dir, base } = path.parse(file);
  const store = openStore(config, dir);
  return () => store.read(base);
}

function createS3Store(bucket: Bucket, prefix: string): BackupStore {
  const files = createS3Files(bucket);
  const folder = prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`;
  return {
    isRemote: true,
    write: (name, chunks) => files.write(`${folder}${name}`, chunks),
    read: (name) => files.read(`${folder}${name}`),
    list: async () => (await files.list(folder)).map(({ key }) => key.slice(folder.length)),
    remove: (name) => files.remove(`${folder}${name}`),
  };
}
