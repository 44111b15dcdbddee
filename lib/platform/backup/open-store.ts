import path from "node:path";
import { AppError } from "../../errors";
import { createS3Files } from "../adapters/s3-files";
import type { Bucket } from "../adapters/s3-url";
import type { Config } from "../config";
import type { BackupStore } from "./backup-store";
import { createFolderStore } from "./folder-store";

/**
 * Opens `s3://BUCKET/PREFIX`, or a folder.
 * @throws AppError backup_not_configured for a bucket without BACKUP_S3_ENDPOINT and its keys
 */
export function openStore(config: Config, to: string): BackupStore {
  const [, bucket, prefix = ""] = /^s3:\/\/([^/]+)\/?(.*)$/.exec(to) ?? [];
  if (bucket === undefined) return createFolderStore(to);
  const { BACKUP_S3_ENDPOINT: endpoint, BACKUP_S3_REGION: region } = config;
  const { BACKUP_S3_ACCESS_KEY_ID: accessKeyId, BACKUP_S3_SECRET_ACCESS_KEY: secretAccessKey } = config;
  if (!endpoint || !region || !accessKeyId || !secretAccessKey) {
    throw new AppError("backup_not_configured", {
      detail:
        "A bucket requires BACKUP_S3_ENDPOINT, BACKUP_S3_REGION, BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY.",
    });
  }
  return createS3Store({ endpoint, bucket, region, accessKeyId, secretAccessKey }, prefix);
}

/** Returns what reads a backup at `s3://BUCKET/PREFIX/FILE` or in a folder. @throws AppError backup_not_configured */
export function backupReader(config: Config, file: string): () => AsyncIterable<Uint8Array> {
  const { dir, base } = path.parse(file);
  const store = openStore(config, dir);
  return () => store.read(base);
}

/** Backups in a bucket, below a prefix. */
function createS3Store(bucket: Bucket, prefix: string): BackupStore {
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
