import { createReadStream } from "node:fs";
import { chmod, readdir, rm, rmdir, stat, utimes } from "node:fs/promises";
import path from "node:path";
import pLimit from "p-limit";
import { bucketOf, openBucket } from "../../platform/adapters/s3";
import { createS3Files } from "../../platform/adapters/s3-files";
import type { Config } from "../../platform/config";
import { attachment } from "../../platform/content-disposition";
import { newId } from "../../platform/db/ids";
import { ifMissing, makeFolder, moveDurably, writeChunks } from "../../platform/files/durable";

/** What a mirror is to have at a path. `fileName` null: a feed. */
export type MirrorObject = {
  sizeBytes: number;
  sha256: string;
  contentType: string;
  fileName: string | null;
  modifiedAt: Date;
  /** Whether the bytes at its path never change. */
  isImmutable: boolean;
};

/** What a mirror has. `tag` changes with the bytes. */
export type Stored = { sizeBytes: number; tag: string };

export type MirrorStore = {
  list: () => Promise<Map<string, Stored>>;
  /** Whether a file that was listed is this one, without reading it: by what was stored with it. */
  isSame: (path: string, stored: Stored, object: MirrorObject) => Promise<boolean>;
  /** Stores a whole object, or nothing. Returns its tag. */
  write: (path: string, object: MirrorObject, bytes: AsyncIterable<Uint8Array>) => Promise<string>;
  read: (path: string) => AsyncIterable<Uint8Array>;
  remove: (path: string) => Promise<void>;
};

/** The paths below it are those of the service, so that a CDN or another host can take the place of the service. */
const MIRROR_FOLDER = "api/updates/";
const UNFINISHED = "api/.unfinished";
const ABANDONED_MS = 60 * 60 * 1000;
/** A feed is written, or not, before another process can have the lease. */
const FEED_TIMEOUT_MS = 5_000;

/** Opens `RELEASE_MIRROR`; null without one. Only what is below `api/updates` there is listed, written or removed. */
export function openMirrorStore(config: Config, now: () => Date): MirrorStore | null {
  const { RELEASE_MIRROR: location } = config;
  if (location === undefined) return null;
  if (!location.startsWith("s3://")) return createFolderStore(path.resolve(/* turbopackIgnore: true */ location));
  const [name, ...prefix] = location.slice("s3://".length).split("/");
  const bucket = bucketOf(config, name);
  if (!bucket) throw new Error("The RELEASE_S3_ variables are not set");
  const start = [...prefix.filter((segment) => segment !== ""), MIRROR_FOLDER].join("/");
  const files = createS3Files(bucket);
  const [storage, feeds] = [openBucket(bucket, now), openBucket(bucket, now, FEED_TIMEOUT_MS)];
  return {
    list: async () =>
      new Map(
        (await files.list(start)).map(({ key, sizeBytes, etag }) => [
          key.slice(start.length),
          { sizeBytes, tag: etag },
        ]),
      ),
    isSame: async (at, { sizeBytes }, object) =>
      sizeBytes === object.sizeBytes && (await files.head(start + at))?.get("x-amz-meta-sha256") === object.sha256,
    write: async (at, object, bytes) => {
      const { sha256, sizeBytes, contentType } = object;
      const headers = { "x-amz-meta-sha256": sha256, ...httpHeaders(object) };
      const { put } = object.fileName === null ? feeds : storage;
      return (await put({ key: start + at, sizeBytes, sha256, contentType, bytes, headers })) ?? "";
    },
    read: (at) => files.read(start + at),
    remove: (at) => files.remove(start + at),
  };
}

/** As the service sends them: feeds may be cached for a minute. */
function httpHeaders({ fileName, isImmutable }: MirrorObject): Record<string, string> {
  return {
    "cache-control": isImmutable ? "public, max-age=31536000, immutable" : "public, max-age=60",
    ...(fileName !== null && { "content-disposition": attachment(fileName) }),
  };
}

/**
 * A folder that a web server reads, whatever the service's umask is. A file has its release's time, which tells it from another
 * one of the same size.
 */
function createFolderStore(root: string): MirrorStore {
  const fileAt = (at: string) => {
    if (at.split("/").some((segment) => segment === "." || segment === "..")) throw new Error(`${at} is not a path`);
    return path.join(root, MIRROR_FOLDER, at);
  };
  const makeReadable = async (folder: string) => {
    if (folder.length < root.length) return;
    if ((await stat(folder).catch(() => null))?.isDirectory()) return;
    await makeReadable(path.dirname(folder));
    await makeFolder(folder);
    await chmod(folder, 0o755);
  };
  const removeEmpty = async (folder: string): Promise<void> => {
    if (folder === ".") return;
    const isRemoved = await rmdir(fileAt(folder)).then(
      () => true,
      () => false, // not empty
    );
    if (isRemoved) await removeEmpty(path.dirname(folder));
  };
  const inTurn = pLimit(1); // or a folder could be removed before the file is in it
  return {
    list: async () => {
      await removeAbandoned(path.join(root, UNFINISHED));
      const files = await filesBelow(path.join(root, MIRROR_FOLDER));
      const found = await Promise.all(
        files.map(async (file) => [file, await statOf(file).catch(ifMissing(null))] as const),
      );
      const start = path.join(root, MIRROR_FOLDER).length;
      return new Map(found.flatMap(([file, stored]) => (stored ? [[file.slice(start), stored] as const] : [])));
    },
    // Node.js 20 stores about half of all times a little too low: `mtime` is rounded, `mtimeMs` is not.
    isSame: async (at, { sizeBytes }, object) =>
      sizeBytes === object.sizeBytes && (await stat(fileAt(at))).mtime.getTime() === object.modifiedAt.getTime(),
    write: async (at, { modifiedAt }, bytes) => {
      const file = fileAt(at);
      const temporary = path.join(root, UNFINISHED, newId());
      await makeFolder(path.dirname(temporary));
      try {
        await writeChunks(temporary, bytes);
        await chmod(temporary, 0o644);
        await utimes(temporary, modifiedAt, modifiedAt);
        await inTurn(async () => {
          await makeReadable(path.dirname(file));
          await moveDurably(temporary, file);
        });
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
      return (await statOf(file)).tag;
    },
    read: (at) => createReadStream(fileAt(at)),
    remove: async (at) => {
      await rm(fileAt(at), { force: true });
      await inTurn(() => removeEmpty(path.dirname(at)));
    },
  };
}

/** Folders may be removed meanwhile. */
async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(ifMissing([]));
  const files = entries.map((entry) => {
    const place = path.join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(place) : [place];
  });
  return (await Promise.all(files)).flat();
}

/** What processes that were killed have left behind. Others may be writing; a file may have its release's `mtime`. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(ifMissing([]))) {
    const file = path.join(folder, name);
    const changed = await stat(file).catch(ifMissing(null));
    if (changed && Date.now() - changed.ctimeMs > ABANDONED_MS) await rm(file, { force: true });
  }
}

async function statOf(file: string): Promise<Stored> {
  const { ino, size, mtimeNs } = await stat(file, { bigint: true });
  return { sizeBytes: Number(size), tag: `${ino} ${mtimeNs}` };
}
