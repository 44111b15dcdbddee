import { existsSync, statfsSync } from "node:fs";
import path from "node:path";
import { DriverAdapterError } from "@prisma/driver-adapter-utils";
import { isNoSpace } from "../../files/no-space";

/**
 * Writes are rejected below this. PostgreSQL stops if it cannot create the next segment of its log (16 MB), and running
 * transactions and a checkpoint also need space.
 */
const MIN_FREE_BYTES = 64 * 2 ** 20;
/** Writes are accepted again above this. The difference keeps one file from toggling the state. */
const MIN_RESUME_FREE_BYTES = 96 * 2 ** 20;

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
export const STORAGE_FULL = databaseError("53100", "there is too little free space on the disk");
/** Its error for a write while writes are paused: SQLSTATE 25006, read_only_sql_transaction. */
export const PAUSED = databaseError("25006", "writes are paused while the database is being copied");

function databaseError(code: string, message: string): DriverAdapterError {
  const without = { detail: undefined, column: undefined, hint: undefined };
  return new DriverAdapterError({ kind: "postgres", severity: "ERROR", code, message, ...without });
}

const MB = 2 ** 20;

/** The embedded database cannot be opened: its disk is full or its files are damaged. What needs no database can be served. */
export class EmbeddedUnavailableError extends Error {
  override readonly name = "EmbeddedUnavailableError";

  constructor(
    readonly isStorageFull: boolean,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Says why a database cannot be opened, and what to do. */
export function openingFailure(folder: string, error: unknown): Error {
  const { message = String(error), syscall } = (error ?? {}) as NodeJS.ErrnoException;
  const freeBytes = freeBytesOf(path.dirname(folder));
  if (isNoSpace(error) || freeBytes < MIN_FREE_BYTES) {
    const text = `The disk with ${folder} is full (${Math.floor(freeBytes / MB)} MB are free), so the embedded database cannot be opened. Free ${MIN_RESUME_FREE_BYTES / MB} MB.`;
    return new EmbeddedUnavailableError(true, text, { cause: error });
  }
  // Of the system, such as missing rights, or of a folder that is none of a database.
  if (syscall !== undefined || error instanceof FolderError)
    return new Error(`The embedded database in ${folder} cannot be opened: ${message}`, { cause: error });
  return damaged(folder, message, error);
}

export function damaged(folder: string, reason: string, cause: unknown): EmbeddedUnavailableError {
  return new EmbeddedUnavailableError(
    false,
    `The embedded database in ${folder} is damaged and cannot be opened (${reason}). Move the folder away, run ` +
      "`homeport restore FILE` with the latest backup, and start the service again.",
    { cause },
  );
}

/** The folder is not one of a database that this version can open. */
export class FolderError extends Error {
  override readonly name = "FolderError";
}

export const hasSpace = (folder: string): boolean => freeBytesOf(folder) >= MIN_RESUME_FREE_BYTES;

function freeBytesOf(folder: string): number {
  if (!existsSync(folder)) return freeBytesOf(path.dirname(folder));
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
