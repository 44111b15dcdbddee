import { statfsSync } from "node:fs";
import { DriverAdapterError } from "@prisma/driver-adapter-utils";

/**
 * Writes are rejected below this. PostgreSQL stops if it cannot create the next segment of its log (16 MB), and running
 * transactions and a checkpoint also need space.
 */
export const MIN_FREE_BYTES = 64 * 2 ** 20;
/** Writes are accepted again above this. The difference keeps one file from toggling the state. */
export const MIN_RESUME_FREE_BYTES = 96 * 2 ** 20;

/**
 * Returns a function that checks whether the free space of a folder's file system is low. It calls `onChange` when the
 * result changes.
 */
export function watchFreeSpace(folder: string, onChange: (isLow: boolean, freeBytes: number) => void): () => boolean {
  let isLow = false;
  return () => {
    const { bavail, bsize } = statfsSync(folder); // about 2 µs
    const freeBytes = bavail * bsize;
    if (isLow !== freeBytes < (isLow ? MIN_RESUME_FREE_BYTES : MIN_FREE_BYTES)) {
      isLow = !isLow;
      onChange(isLow, freeBytes);
    }
    return isLow;
  };
}

/** PostgreSQL's error for a full disk: SQLSTATE 53100, disk_full. */
export const STORAGE_FULL = new DriverAdapterError({
  kind: "postgres",
  code: "53100",
  severity: "ERROR",
  message: "there is too little free space on the disk",
  detail: undefined,
  column: undefined,
  hint: undefined,
});
