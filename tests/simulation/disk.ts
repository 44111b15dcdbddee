// biome-ignore-all lint/suspicious/noExplicitAny: functions of node:fs are replaced

import { constants } from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { machine } from "./machine";
import type { Random } from "./random";

/** What a disk writes at once or not at all. PostgreSQL's pages have this size, and its log is written in such pages. */
const PAGE_BYTES = 8192;
const PLENTY_BYTES = 10 * 2 ** 30;

/** A file's size at its last sync, and its pages that were written since, as they were then; null: beyond its end. */
type Unsynced = { sizeBytes: number; pages: Map<number, Buffer | null> };
/** A name that was made, replaced or removed in a folder that was not synced since. `kept` is the file that it was before. */
type Entry = { folder: string; kept: string | null; undo: () => void };

const fs = createRequire(import.meta.url)("node:fs");
const real = { ...fs };
const unsynced = new Map<string, Unsynced>();
let entries: Entry[] = [];
/** The files below the seed's folder that are open, and by whom. */
const paths = new Map<number, string>();
const owners = new Map<number, unknown>();
const readers = new Map<string, number>();
let [root, database, lost] = ["", "", ""];
let keptCount = 0;

/**
 * A disk that loses what was not synced when the machine stops: pages of files, and the names in folders. It replaces the
 * functions of node:fs, those that wait by those that do not, so that Node's threads have no part in it.
 */
export const disk = {
  freeBytes: PLENTY_BYTES,
  /** Called before each change by code that can wait for it, and within each sync. */
  gate: async (_port: "file" | "sync", _detail: string): Promise<void> => {},
  /** A seed's own folders: of its data, and for files that a crash may bring back. */
  begin: (data: string, kept: string) => {
    [root, database, lost] = [data, path.join(data, "db"), kept];
    disk.free();
    changedMs.clear();
  },
  /** A process has ended. */
  closeFilesOf: (process: unknown) => {
    for (const [fd, owner] of owners) if (owner === process) fs.closeSync(fd);
  },
  /** For a while, only so much is free. */
  fill: (freeBytes: number) => {
    disk.freeBytes = freeBytes;
  },
  free: () => {
    disk.freeBytes = PLENTY_BYTES;
  },
  isFull: () => disk.freeBytes !== PLENTY_BYTES,
  /** How many of the service's files are open, without those of the database. */
  openCount: () => [...paths.values()].filter((file) => isData(file)).length,
  /** The machine stops: what was not synced is lost, all of it or any part, as the seed says. Closes all files. */
  stop: (random: Random): { pages: number; names: number } => {
    const share = random.pick([0, 0.5, 1, 1]);
    const pages = losePages(random, share);
    for (const file of [...readers.keys()]) forget(file);
    for (const fd of paths.keys()) real.closeSync(fd);
    paths.clear();
    owners.clear();
    return { pages, names: loseNames(random, share) };
  },
  install: () => {
    installNames();
    installContent();
    installWaiting();
    fs.statfsSync = () => ({ bavail: Math.floor(disk.freeBytes / 4096), bsize: 4096 });
    fs.promises.statfs = async () => fs.statfsSync();
    syncBuiltinESMExports();
  },
};

const isBelow = (folder: string, file: unknown): file is string =>
  typeof file === "string" && (file === folder || file.startsWith(`${folder}${path.sep}`));
/** Of the service's own files. Those of the database are written by PGlite, which syncs no folder. */
const isData = (file: unknown): file is string => root !== "" && isBelow(root, file) && !isBelow(database, file);

function losePages(random: Random, share: number): number {
  let count = 0;
  for (const [file, { sizeBytes, pages }] of unsynced) {
    const fd = real.openSync(file, "r+");
    const { atime, mtime } = real.fstatSync(fd);
    let endBytes = sizeBytes;
    for (const [page, before] of [...pages].sort(([a], [b]) => a - b)) {
      const start = page * PAGE_BYTES;
      if (!random.chance(share)) {
        endBytes = Math.max(endBytes, Math.min(start + PAGE_BYTES, real.fstatSync(fd).size));
        continue;
      }
      const content = before ?? Buffer.alloc(PAGE_BYTES);
      real.writeSync(fd, content, 0, content.length, start);
      count += 1;
    }
    real.ftruncateSync(fd, endBytes);
    real.futimesSync(fd, atime, mtime);
    real.closeSync(fd);
  }
  unsynced.clear();
  return count;
}

/** A folder's changes reach the disk one after the other. */
function loseNames(random: Random, share: number): number {
  let count = 0;
  // What was in a folder is lost with it, and is back with it.
  const folders = [...new Set(entries.map((entry) => entry.folder))].sort((a, b) => a.length - b.length);
  for (const folder of folders) {
    if (!real.existsSync(folder)) continue;
    const changes = entries.filter((entry) => entry.folder === folder);
    const lostCount = random.chance(share) ? 1 + random.below(changes.length) : 0;
    for (const { undo } of lostCount ? changes.slice(-lostCount).reverse() : []) undo();
    count += lostCount;
  }
  for (const { kept } of entries) if (kept) real.rmSync(kept, { force: true });
  entries = [];
  return count;
}

/** Keeps a file that loses its name. */
function keep(file: string): string | null {
  if (!real.existsSync(file) || real.lstatSync(file).isDirectory()) return null;
  const kept = path.join(lost, String(keptCount++));
  real.linkSync(file, kept);
  return kept;
}

function changed(file: string, undo: () => void, kept: string | null = null): void {
  entries.push({ folder: path.dirname(file), kept, undo });
}

/** What was changed under a name is under another one, or nowhere. */
function renamed(from: string, to: string | null): void {
  const target = (file: string) => (to === null ? null : `${to}${file.slice(from.length)}`);
  for (const [file, content] of [...unsynced])
    if (isBelow(from, file)) {
      unsynced.delete(file);
      const next = target(file);
      if (next) unsynced.set(next, content);
    }
  for (const file of [...readers.keys()]) if (isBelow(from, file)) forget(file);
  for (const [fd, file] of paths) if (isBelow(from, file)) paths.set(fd, target(file) ?? `${file} (deleted)`);
}

function forget(file: string): void {
  const fd = readers.get(file);
  if (fd !== undefined) real.closeSync(fd);
  readers.delete(file);
}

/** @throws Error if the disk has no room for so much */
function use(bytes: number): void {
  if (!disk.isFull() || bytes <= 0) return;
  if (bytes > disk.freeBytes) throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
  disk.freeBytes -= bytes;
}

/** Functions that change what is in a folder. */
function installNames(): void {
  fs.renameSync = (from: string, to: string) => {
    const kept = isData(to) ? keep(to) : null;
    real.renameSync(from, to);
    renamed(to, null);
    renamed(from, to);
    if (!isData(to)) return;
    const undo = () => {
      real.renameSync(to, from);
      if (kept) real.renameSync(kept, to);
    };
    changed(to, undo, kept);
  };
  fs.unlinkSync = (file: string) => {
    const kept = isData(file) ? keep(file) : null;
    real.unlinkSync(file);
    renamed(file, null);
    if (kept) changed(file, () => real.renameSync(kept, file), kept);
  };
  fs.linkSync = (from: string, to: string) => {
    real.linkSync(from, to);
    if (isData(to)) changed(to, () => real.unlinkSync(to));
  };
  fs.mkdirSync = (folder: string, options: any) => {
    if (isBelow(root, folder) && !real.existsSync(folder)) use(PAGE_BYTES);
    const first = real.mkdirSync(folder, options);
    const top = options?.recursive ? first : folder;
    if (top && isData(folder))
      for (const made of levels(top, folder)) changed(made, () => real.rmSync(made, { recursive: true, force: true }));
    return first;
  };
  fs.rmdirSync = (folder: string) => {
    real.rmdirSync(folder);
    if (isData(folder)) changed(folder, () => real.mkdirSync(folder));
  };
  fs.rmSync = (file: string, options: any = {}) => {
    const stats = real.lstatSync(file, { throwIfNoEntry: false });
    if (!stats || !isData(file)) return real.rmSync(file, options);
    if (!stats.isDirectory()) return fs.unlinkSync(file);
    if (!options.recursive) return real.rmSync(file, options);
    for (const name of real.readdirSync(file)) fs.rmSync(path.join(file, name), options);
    return fs.rmdirSync(file);
  };
}

function levels(top: string, folder: string): string[] {
  return folder === top ? [folder] : [...levels(top, path.dirname(folder)), folder];
}

const isFlag = (flags: any, name: RegExp, bit: number) =>
  typeof flags === "number" ? (flags & bit) !== 0 : name.test(flags ?? "r");

/** Functions that write to files. */
function installContent(): void {
  fs.statSync = (file: any, options: any) => {
    const stats = real.statSync(file, options);
    if (isData(file) && typeof stats?.ino === "number") stats.ctimeMs = changedMs.get(stats.ino) ?? stats.mtimeMs;
    return stats;
  };
  fs.openSync = (file: any, flags: any, ...rest: any[]) => {
    const isNew = isBelow(root, file) && isFlag(flags, /[wa]/, constants.O_CREAT) && !real.existsSync(file);
    if (isNew) use(PAGE_BYTES);
    if (!isNew && isData(file) && isFlag(flags, /w/, constants.O_TRUNC))
      beforeChange(file, 0, real.statSync(file).size);
    const fd = real.openSync(file, flags, ...rest);
    if (isNew && isData(file)) changed(file, () => real.rmSync(file, { force: true }));
    if (isNew && isData(file)) setTime(fd);
    if (isBelow(root, file)) {
      paths.set(fd, file);
      owners.set(fd, machine.process());
    }
    return fd;
  };
  fs.closeSync = (fd: number) => {
    paths.delete(fd);
    owners.delete(fd);
    real.closeSync(fd);
  };
  fs.writeSync = (fd: number, data: any, offset: any, length: any, position: any) => {
    const file = paths.get(fd);
    if (file === undefined || typeof position !== "number") return real.writeSync(fd, data, offset, length, position);
    const end = position + (length ?? data.byteLength);
    if (disk.isFull()) use(end - real.fstatSync(fd).size);
    beforeChange(file, position, end);
    const bytesWritten = real.writeSync(fd, data, offset, length, position);
    if (isData(file)) setTime(fd);
    return bytesWritten;
  };
  fs.writeFileSync = (file: any, data: any, options: any) => {
    if (!isBelow(root, file)) return real.writeFileSync(file, data, options);
    const fd = fs.openSync(file, options?.flag ?? "w", options?.mode);
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    try {
      for (let done = 0; done < bytes.byteLength; )
        done += fs.writeSync(fd, bytes, done, bytes.byteLength - done, done);
    } finally {
      fs.closeSync(fd);
    }
  };
  fs.truncateSync = (file: any, size = 0) => {
    if (isData(file)) beforeChange(file, size, real.statSync(file).size);
    real.truncateSync(file, size);
    const content = isData(file) ? undefined : unsynced.get(file);
    if (!content) return;
    content.sizeBytes = Math.min(content.sizeBytes, size);
    for (const page of [...content.pages.keys()]) if (page * PAGE_BYTES >= size) content.pages.delete(page);
  };
  const syncNow = (fd: number) => {
    const file = paths.get(fd) ?? "";
    unsynced.delete(file);
    entries = entries.filter(({ folder, kept }) => {
      if (folder === file && kept) real.rmSync(kept, { force: true });
      return folder !== file;
    });
  };
  fs.fsyncSync = syncNow;
  fs.fdatasyncSync = syncNow;
}

/** Files are as old as the simulated clock says. */
const setTime = (fd: number): void => {
  real.futimesSync(fd, machine.nowMs() / 1000, machine.nowMs() / 1000);
  changedMs.set(real.fstatSync(fd).ino, machine.nowMs());
};
/** When files were changed, by their inodes. Nobody can set that time of a file. */
const changedMs = new Map<number, number>();

/** Remembers the pages that are written, as they were when the file was synced. */
function beforeChange(file: string, start: number, end: number): void {
  const content = unsynced.get(file) ?? { sizeBytes: real.statSync(file).size, pages: new Map() };
  unsynced.set(file, content);
  for (let page = Math.floor(start / PAGE_BYTES); page * PAGE_BYTES < end; page++)
    if (!content.pages.has(page)) content.pages.set(page, readPage(file, page, content.sizeBytes));
}

function readPage(file: string, page: number, sizeBytes: number): Buffer | null {
  const start = page * PAGE_BYTES;
  if (start >= sizeBytes) return null;
  let fd = readers.get(file);
  if (fd === undefined) {
    fd = real.openSync(file, "r") as number;
    readers.set(file, fd);
  }
  const content = Buffer.alloc(Math.min(PAGE_BYTES, sizeBytes - start));
  real.readSync(fd, content, 0, content.length, start);
  return content;
}

/** What is written while it runs stays unsynced. */
async function sync(fd: number): Promise<void> {
  const file = paths.get(fd) ?? "";
  const content = unsynced.get(file);
  const sizeBytes = content ? real.fstatSync(fd).size : 0;
  const written = new Map([...(content?.pages.keys() ?? [])].map((page) => [page, readPage(file, page, sizeBytes)]));
  await disk.gate("sync", isData(file) ? "file" : "log");
  if (!content) return fs.fsyncSync(fd);
  if (unsynced.get(file) !== content) return;
  for (const [page, before] of written) {
    const now = readPage(file, page, real.fstatSync(fd).size);
    if (before && now?.equals(before)) content.pages.delete(page);
    else content.pages.set(page, before);
  }
  content.sizeBytes = Math.max(content.sizeBytes, sizeBytes);
  if (content.pages.size === 0) unsynced.delete(file);
}

const CHANGES = new Set([
  "writeFile",
  "rename",
  "unlink",
  "link",
  "mkdir",
  "rmdir",
  "rm",
  "chmod",
  "utimes",
  "truncate",
]);
const READS = ["stat", "lstat", "readFile", "readdir", "realpath", "access", "copyFile", "mkdtemp", "readlink"];

/** Functions that wait: by promises and by callbacks. */
function installWaiting(): void {
  for (const name of [...CHANGES, ...READS])
    fs.promises[name] = async (...args: any[]) => {
      if (CHANGES.has(name) && isData(args[0])) await disk.gate("file", name);
      return fs[`${name}Sync`](...args);
    };
  fs.promises.open = async (file: any, flags: any = "r", mode?: number) => {
    if (isData(file) && isFlag(flags, /[wa]/, constants.O_CREAT)) await disk.gate("file", "open");
    return new Handle(fs.openSync(file, flags, mode), isFlag(flags, /a/, constants.O_APPEND));
  };
  for (const name of ["open", "close", "read", "write", "stat", "lstat", "fstat", "readFile", "writeFile", "readdir"])
    fs[name] = (...args: any[]) => {
      const done = args.pop();
      const results: any[] = [null];
      try {
        results.push(fs[`${name}Sync`](...args));
      } catch (error) {
        results[0] = error;
      }
      queueMicrotask(() => done?.(...results, args[1]));
    };
  fs.fsync = (fd: number, done: (error: Error | null) => void) => void sync(fd).then(() => done(null), done);
  fs.fdatasync = fs.fsync;
}

/** A FileHandle. */
class Handle {
  #at = 0;

  constructor(
    readonly fd: number,
    readonly isAppend: boolean,
  ) {}

  async read(target: any, ...rest: any[]) {
    const given =
      rest[0] && typeof rest[0] === "object" ? rest[0] : { offset: rest[0], length: rest[1], position: rest[2] };
    const buffer = ArrayBuffer.isView(target) ? target : (target?.buffer ?? Buffer.alloc(16_384));
    const { offset = 0, length, position = null } = ArrayBuffer.isView(target) ? given : (target ?? {});
    const at = position ?? this.#at;
    const bytesRead = real.readSync(this.fd, buffer, offset, length ?? buffer.byteLength - offset, at);
    if (position === null) this.#at += bytesRead;
    return { bytesRead, buffer };
  }
  async write(data: any, ...rest: any[]) {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    const [offset, length, position] = typeof data === "string" ? [0, bytes.byteLength, rest[0]] : rest;
    await this.#wait("write");
    const at = this.isAppend ? real.fstatSync(this.fd).size : (position ?? this.#at);
    const bytesWritten = fs.writeSync(this.fd, bytes, offset ?? 0, length ?? bytes.byteLength - (offset ?? 0), at);
    if (position === undefined || position === null) this.#at += bytesWritten;
    return { bytesWritten, buffer: data };
  }
  async writeFile(data: any) {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    for (let done = 0; done < bytes.byteLength; )
      done += (await this.write(bytes, done, bytes.byteLength - done)).bytesWritten;
  }
  async readFile(options?: any) {
    const bytes = Buffer.alloc(Math.max(0, real.fstatSync(this.fd).size - this.#at));
    await this.read(bytes);
    return typeof options === "string" || options?.encoding ? bytes.toString(options.encoding ?? options) : bytes;
  }
  async truncate(size = 0) {
    await this.#wait("truncate");
    fs.truncateSync(paths.get(this.fd), size);
  }
  async chmod(mode: number) {
    real.fchmodSync(this.fd, mode);
  }
  async utimes(accessed: Date, modified: Date) {
    real.futimesSync(this.fd, accessed, modified);
  }
  stat = async (options?: any) => real.fstatSync(this.fd, options);
  sync = () => sync(this.fd);
  datasync = () => sync(this.fd);
  close = async () => fs.closeSync(this.fd);

  async #wait(name: string): Promise<void> {
    if (isData(paths.get(this.fd))) await disk.gate("file", name);
  }
}
