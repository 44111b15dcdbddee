import { statfsSync } from "node:fs";

/**
 * Below this no new write is begun: PostgreSQL cannot go on after it failed to create the next segment of its log (16 MB), and
 * what is under way and a checkpoint need room as well.
 */
const MIN_FREE_BYTES = 64 * 2 ** 20;
/** Writes begin again above this, so that they do not come and go with each file. */
const ENOUGH_FREE_BYTES = 96 * 2 ** 20;

/** Watches the free space of a folder's file system. `onChange` hears each time that it becomes low, or enough again. */
export function watchFreeSpace(folder: string, onChange: (isLow: boolean, freeBytes: number) => void): () => boolean {
  let isLow = false;
  return () => {
    const { bavail, bsize } = statfsSync(folder); // about 2 µs
    const freeBytes = bavail * bsize;
    if (isLow !== freeBytes < (isLow ? ENOUGH_FREE_BYTES : MIN_FREE_BYTES)) {
      isLow = !isLow;
      onChange(isLow, freeBytes);
    }
    return isLow;
  };
}
