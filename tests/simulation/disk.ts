// biome-ignore-all lint/suspicious/noExplicitAny: functions of node:fs are replaced

import { createRequire, syncBuiltinESMExports } from "node:module";
import type { Random } from "./random";

/** What a disk writes at once or not at all. PostgreSQL's pages have this size, and its log is written in such pages. */
const PAGE_BYTES = 8192;

/** A file's size at its last sync, and its pages that were written since, as they were then; null: beyond its end. */
type Unsynced = { sizeBytes: number; pages: Map<number, Buffer | null> };

/**
 * A disk that loses what was not synced when the machine stops. It replaces the functions by which PGlite writes files, and
 * remembers what each page below its folder was when its file was last synced.
 */
export function installDisk() {
  const fs = createRequire(import.meta.url)("node:fs");
  const real = { ...fs };
  const unsynced = new Map<string, Unsynced>();
  const paths = new Map<number, string>();
  const readers = new Map<string, number>();
  let folder = "";
  const disk = { freeBytes: 10 * 2 ** 30, gate: async (): Promise<void> => {} };

  const readPage = (path: string, page: number, sizeBytes: number): Buffer | null => {
    const start = page * PAGE_BYTES;
    if (start >= sizeBytes) return null;
    let fd = readers.get(path);
    if (fd === undefined) {
      fd = real.openSync(path, "r") as number;
      readers.set(path, fd);
    }
    const content = Buffer.alloc(Math.min(PAGE_BYTES, sizeBytes - start));
    real.readSync(fd, content, 0, content.length, start);
    return content;
  };
  const forget = (path: string) => {
    const fd = readers.get(path);
    if (fd !== undefined) real.closeSync(fd);
    readers.delete(path);
  };
  const beforeWrite = (fd: number, path: string, position: number, length: number) => {
    const file = unsynced.get(path) ?? { sizeBytes: real.fstatSync(fd).size, pages: new Map() };
    unsynced.set(path, file);
    for (let page = Math.floor(position / PAGE_BYTES); page * PAGE_BYTES < position + length; page++)
      if (!file.pages.has(page)) file.pages.set(page, readPage(path, page, file.sizeBytes));
  };

  fs.openSync = (path: any, ...rest: any[]) => {
    const fd = real.openSync(path, ...rest);
    if (typeof path === "string" && path.startsWith(folder)) paths.set(fd, path);
    return fd;
  };
  fs.closeSync = (fd: number) => {
    paths.delete(fd);
    real.closeSync(fd);
  };
  fs.writeSync = (fd: number, data: any, offset: any, length: any, position: any) => {
    const path = paths.get(fd);
    if (path !== undefined && typeof position === "number") beforeWrite(fd, path, position, length ?? data.byteLength);
    return real.writeSync(fd, data, offset, length, position);
  };
  fs.renameSync = (from: any, to: any) => {
    real.renameSync(from, to);
    const file = unsynced.get(from);
    unsynced.delete(from);
    unsynced.delete(to);
    if (file) unsynced.set(to, file);
    forget(from);
    forget(to);
    for (const [fd, path] of paths) if (path === from) paths.set(fd, to);
  };
  fs.unlinkSync = (path: any) => {
    real.unlinkSync(path);
    unsynced.delete(path);
    forget(path);
  };
  fs.truncateSync = (path: any, size = 0) => {
    real.truncateSync(path, size);
    const file = unsynced.get(path);
    if (!file) return;
    file.sizeBytes = Math.min(file.sizeBytes, size);
    for (const page of [...file.pages.keys()]) if (page * PAGE_BYTES >= size) file.pages.delete(page);
  };
  const syncNow = (fd: number) => void unsynced.delete(paths.get(fd) ?? "");
  fs.fsyncSync = syncNow;
  fs.fdatasyncSync = syncNow;
  /** What is written while it runs stays unsynced. */
  const sync = (fd: number, done: (error: Error | null) => void) => {
    const path = paths.get(fd) ?? "";
    const file = unsynced.get(path);
    const sizeBytes = file ? real.fstatSync(fd).size : 0;
    const written = new Map([...(file?.pages.keys() ?? [])].map((page) => [page, readPage(path, page, sizeBytes)]));
    void disk.gate().then(() => {
      if (file && unsynced.get(path) === file) {
        for (const [page, content] of written) {
          const now = readPage(path, page, real.fstatSync(fd).size);
          if (content && now?.equals(content)) file.pages.delete(page);
          else file.pages.set(page, content);
        }
        file.sizeBytes = Math.max(file.sizeBytes, sizeBytes);
        if (file.pages.size === 0) unsynced.delete(path);
      }
      done(null);
    });
  };
  fs.fsync = sync;
  fs.fdatasync = sync;
  fs.statfsSync = () => ({ bavail: Math.floor(disk.freeBytes / 4096), bsize: 4096 });
  syncBuiltinESMExports();

  return Object.assign(disk, {
    /** A seed's own folder. */
    begin: (path: string) => {
      folder = path;
    },
    /** The machine stops: what was not synced is lost, all of it or any part, as the seed says. Closes all files. */
    stop: (random: Random) => {
      const share = random.pick([0, 0.5, 1, 1]);
      let lostPages = 0;
      for (const [path, { sizeBytes, pages }] of unsynced) {
        const fd = real.openSync(path, "r+");
        let endBytes = sizeBytes;
        for (const [page, before] of [...pages].sort(([a], [b]) => a - b)) {
          const start = page * PAGE_BYTES;
          if (!random.chance(share)) {
            endBytes = Math.max(endBytes, Math.min(start + PAGE_BYTES, real.fstatSync(fd).size));
            continue;
          }
          const content = before ?? Buffer.alloc(PAGE_BYTES);
          real.writeSync(fd, content, 0, content.length, start);
          lostPages += 1;
        }
        real.ftruncateSync(fd, endBytes);
        real.closeSync(fd);
      }
      unsynced.clear();
      for (const path of [...readers.keys()]) forget(path);
      for (const fd of paths.keys()) real.closeSync(fd);
      paths.clear();
      return lostPages;
    },
  });
}

export type Disk = ReturnType<typeof installDisk>;
