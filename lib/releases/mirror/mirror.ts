import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import pLimit from "p-limit";
import type { Context } from "../../context";
import { newId } from "../../platform/db/ids";
import type { AllowedNetworks } from "../../platform/outbound";
import { groupBy, type Snapshot } from "../catalog/snapshot";
import { servedFiles } from "../release-files";
import {
  availableReleases,
  feedsOf,
  type MirrorFeed,
  type MirrorFile,
  releaseFilesOf,
  servableReleases,
} from "./contents";
import { readSource } from "./read-source";
import { type MirrorObject, type MirrorStore, openMirrorStore, type Stored } from "./store";

type Deps = Pick<
  Context,
  "catalog" | "config" | "db" | "dbNow" | "log" | "now" | "policies" | "rollouts" | "storage"
> & {
  /** Where files at URLs may be besides public addresses. */
  allowed: AllowedNetworks;
};

export type ReleaseMirror = {
  /** Writes what has changed, if this process has the lease. @throws the database's error */
  sync: () => Promise<void>;
  close: () => Promise<void>;
};

/** What is on the mirror. `sha256` null: of bytes that this process does not know. `links`: of a feed. */
type Known = Stored & { sha256: string | null; links?: readonly string[] };

type State = {
  leaseEndsMs: number;
  /** What this process has recorded of itself. */
  recorded: string;
  known: Map<string, Known>;
  listedMs: number;
  /** The catalog that was written last; null: it has to be written. */
  written: Snapshot | null;
  /** Whether files were copied since the feeds were last made, which may name them now. */
  hasCopied: boolean;
  /** The releases in the feeds. */
  offered: ReadonlySet<string>;
  /** Files to copy, the newest version first. */
  missing: Map<string, MirrorFile>;
  /** Since when the feeds do not name a file that is still offered. */
  supersededMs: Map<string, number>;
  copying: Promise<void> | null;
  /** Copies that failed, by path and hash. */
  failed: Map<string, { message: string; failures: number; retryMs: number }>;
  feedError: string | null;
  failures: number;
  retryMs: number;
  isClosed: boolean;
};
type Writer = Deps & { store: MirrorStore; holder: string; state: State };

const LEASE_MS = 15_000;
/** A lease is renewed before less is left. */
const MIN_LEASE_MS = 8_000;
/** What others have changed on the mirror is found and mended. */
const LIST_EVERY_MS = 10 * 60 * 1000;
/** Feeds that name a file may be cached for some minutes after they were replaced. */
const SUPERSEDED_MS = 60 * 60 * 1000;
const RETRY_MS = [2_000, 4_000, 8_000, 16_000, 30_000] as const;
const CONCURRENT_REQUESTS = 16;
const CONCURRENT_COPIES = 4;
const MAX_ERROR_LENGTH = 500;

/** Mirrors what updaters request to RELEASE_MIRROR; null without one. Of several processes, one writes. */
export function createReleaseMirror(deps: Deps): ReleaseMirror | null {
  const store = openMirrorStore(deps.config, deps.now);
  if (!store) return null;
  const writer = { ...deps, store, holder: newId(), state: newState() };
  const oneAtATime = pLimit(1);
  return {
    sync: () => oneAtATime(() => sync(writer)),
    close: async () => {
      writer.state.isClosed = true;
      await writer.state.copying;
      await oneAtATime(() => endLease(writer));
    },
  };
}

const newState = (): State => ({
  leaseEndsMs: Number.NEGATIVE_INFINITY,
  recorded: "",
  known: new Map(),
  listedMs: Number.NEGATIVE_INFINITY,
  written: null,
  hasCopied: false,
  offered: new Set(),
  missing: new Map(),
  supersededMs: new Map(),
  copying: null,
  failed: new Map(),
  feedError: null,
  failures: 0,
  retryMs: Number.NEGATIVE_INFINITY,
  isClosed: false,
});

async function sync(writer: Writer): Promise<void> {
  const { state, policies, rollouts, log } = writer;
  if (state.isClosed) return;
  if (!(await keepLease(writer))) return void Object.assign(state, { ...newState(), copying: state.copying });
  if (performance.now() < state.retryMs) return;
  // What they say must be known: a mirror is never ahead of them.
  await policies.refresh();
  await rollouts.refresh();
  try {
    await writeChanges(writer);
    if (state.feedError !== null) log.info("the release mirror can be written again");
    Object.assign(state, { failures: 0, feedError: null });
    if (nextCopy(state, new Set())) state.copying ??= copyMissing(writer);
  } catch (error) {
    if (state.isClosed) return;
    logOnce(writer, state.feedError, error);
    state.feedError = describe(error);
    state.retryMs = retryAfter(state.failures++);
    state.written = null;
  }
  if (recordOf(state) !== state.recorded) await renewLease(writer);
}

const retryAfter = (failures: number) => performance.now() + (RETRY_MS[failures] ?? RETRY_MS.at(-1) ?? 0);

/** The lease of a process that was killed ends by itself. */
async function keepLease(writer: Writer): Promise<boolean> {
  return writer.state.leaseEndsMs - performance.now() > MIN_LEASE_MS || renewLease(writer);
}

const isCurrent = ({ feedError, hasCopied, missing, written }: State) =>
  feedError === null && written !== null && !hasCopied && missing.size === 0;
const errorOf = ({ feedError, failed }: State) => feedError ?? [...failed.values()][0]?.message ?? null;
const recordOf = (state: State) => JSON.stringify([isCurrent(state), state.missing.size, errorOf(state)]);

/** Takes or extends the lease, and records how this process is getting on. */
async function renewLease({ config, db, dbNow, holder, state }: Writer): Promise<boolean> {
  const startedMs = performance.now();
  const recorded = recordOf(state);
  const error = errorOf(state);
  const count = await db.$executeRaw`
    INSERT INTO "ReleaseMirror" AS known ("location", "holder", "leaseUntil")
    VALUES (${config.RELEASE_MIRROR}, ${holder}::uuid, ${dbNow()} + interval '1 millisecond' * ${LEASE_MS}::int)
    ON CONFLICT ("location") DO UPDATE SET "holder" = EXCLUDED."holder", "leaseUntil" = EXCLUDED."leaseUntil",
      "currentAt" = CASE WHEN ${isCurrent(state)} THEN ${dbNow()} ELSE known."currentAt" END,
      "pendingFiles" = ${state.missing.size}::int, "error" = ${error}
    WHERE known."holder" = EXCLUDED."holder"
      OR known."leaseUntil" NOT BETWEEN ${dbNow()} AND ${dbNow()} + interval '1 minute'`;
  const isHeld = count > 0;
  Object.assign(state, isHeld ? { leaseEndsMs: startedMs + LEASE_MS, recorded } : {});
  return isHeld;
}

async function endLease({ config, db, dbNow, holder }: Writer): Promise<void> {
  const ended = db.$executeRaw`
    UPDATE "ReleaseMirror" SET "leaseUntil" = ${dbNow()} - interval '1 millisecond'
    WHERE "location" = ${config.RELEASE_MIRROR} AND "holder" = ${holder}::uuid`;
  await ended.catch(() => {}); // it ends by itself
}

/** Files are there before the feeds that name them, and are removed after these. */
async function writeChanges(writer: Writer): Promise<void> {
  const { catalog, config, state } = writer;
  const snapshot = catalog.current();
  if (!snapshot) return; // nothing is known
  const isListDue = performance.now() - state.listedMs >= LIST_EVERY_MS;
  if (snapshot === state.written && !state.hasCopied && !isListDue) return;
  const files = releaseFilesOf(snapshot);
  if (isListDue) await readKnown(writer, files);
  Object.assign(state, { written: null, hasCopied: false }); // a copy may end while feeds are written
  const isPresent = (path: string, { artifact }: MirrorFile) => state.known.get(path)?.sha256 === artifact.sha256;
  const available = availableReleases(snapshot, files, isPresent, ({ id }) => state.offered.has(id));
  const { feeds, files: named } = feedsOf(available, snapshot, config.RELEASE_MIRROR_URL ?? config.baseUrl);
  const wanted = new Map([...files, ...named]);
  const isReady = ([, { links }]: [string, MirrorFeed]) =>
    links.every((path) => feeds.has(path) || isPresentAt(wanted, path, isPresent));
  const ready = new Map([...feeds].filter(isReady));
  await writeFeedsAndRemoveOthers(writer, { available, wanted, feeds, ready });
  state.offered = new Set(servableReleases(available).map(({ id }) => id));
  state.missing = new Map([...wanted].filter(([path, file]) => !isPresent(path, file)));
  const waiting = new Set([...state.missing].map(([path, file]) => copyKey(path, file)));
  for (const key of state.failed.keys()) if (!waiting.has(key)) state.failed.delete(key);
  state.written = snapshot;
}

function isPresentAt(
  wanted: ReadonlyMap<string, MirrorFile>,
  path: string,
  isPresent: (path: string, file: MirrorFile) => boolean,
): boolean {
  const file = wanted.get(path);
  return file !== undefined && isPresent(path, file);
}

/**
 * Lists the mirror. What this process has not written itself counts as known if it is a file of the catalog: the one of its path,
 * and as a link to the newest file, any one.
 */
async function readKnown({ state, store }: Writer, files: ReadonlyMap<string, MirrorFile>): Promise<void> {
  const before = state.known;
  state.known = new Map(before);
  const listed = await store.list();
  const bySize = groupBy(files.values(), ({ artifact }) => String(artifact.sizeBytes));
  const limit = pLimit(CONCURRENT_REQUESTS);
  const found = await limit.map([...listed], async ([path, stored]): Promise<[string, Known]> => {
    const known = before.get(path);
    if (known?.tag === stored.tag && known.sizeBytes === stored.sizeBytes) return [path, known];
    const own = files.get(path);
    for (const file of own ? [own] : (bySize.get(String(stored.sizeBytes)) ?? [])) {
      if (await store.isSame(path, stored, objectOf(path, file)))
        return [path, { ...stored, sha256: file.artifact.sha256 }];
    }
    return [path, { ...stored, sha256: null }];
  });
  const copied = [...state.known].filter(([path, known]) => before.get(path) !== known); // meanwhile
  state.known = new Map([...found, ...copied]);
  state.listedMs = performance.now();
}

/** A feed's object. */
export const feedObject = ({ text, contentType }: MirrorFeed, modifiedAt: Date): MirrorObject => {
  const bytes = Buffer.from(text);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { sizeBytes: bytes.length, sha256, contentType, fileName: null, modifiedAt, isImmutable: false };
};

function objectOf(path: string, { release, artifact }: MirrorFile): MirrorObject {
  const { sizeBytes, sha256, contentType, fileName } = artifact;
  const isImmutable = path.split("/").length === 5 && !release.sample; // below its version and its target
  return { sizeBytes, sha256, contentType, fileName, modifiedAt: release.releasedAt, isImmutable };
}

async function writeFeed({ now, state, store }: Writer, path: string, feed: MirrorFeed): Promise<void> {
  const object = feedObject(feed, now());
  const { sizeBytes, sha256 } = object;
  const { links } = feed;
  const known = state.known.get(path);
  const tag =
    known?.sha256 === sha256 ? known.tag : await store.write(path, object, Readable.from([Buffer.from(feed.text)]));
  state.known.set(path, { sizeBytes, sha256, links, tag });
}

type Plan = {
  available: Snapshot;
  wanted: ReadonlyMap<string, MirrorFile>;
  feeds: ReadonlyMap<string, MirrorFeed>;
  ready: ReadonlyMap<string, MirrorFeed>;
};

/**
 * Writes and removes feeds, then removes files. What is no longer offered goes at once. A file that other feeds named stays for an
 * hour, and a feed stays that waits for files, as long as it names nothing else.
 */
async function writeFeedsAndRemoveOthers(writer: Writer, { available, wanted, feeds, ready }: Plan): Promise<void> {
  const { state, store } = writer;
  const offered = new Set(
    servableReleases(available).flatMap((release) => servedFiles(release).map(({ sha256 }) => sha256)),
  );
  const isOffered = (known: Known | undefined) => known?.sha256 != null && offered.has(known.sha256);
  const shouldStay = (path: string, known: Known): boolean => {
    if (ready.has(path) || wanted.get(path)?.artifact.sha256 === known.sha256) return true;
    if (known.links) return feeds.has(path) && known.links.every((link) => isOffered(state.known.get(link)));
    return isOffered(known) && (wanted.has(path) || isRecent(state, path));
  };
  for (const path of wanted.keys()) state.supersededMs.delete(path);
  const others = [...state.known].filter(([path, known]) => !shouldStay(path, known));
  const [otherFiles, otherFeeds] = [false, true].map((isFeed) =>
    others
      .filter(([, { links }]) => (links !== undefined) === isFeed)
      .sort(([, a], [, b]) => a.sizeBytes - b.sizeBytes)
      .map(([path]) => async () => {
        await store.remove(path);
        state.known.delete(path);
        state.supersededMs.delete(path);
      }),
  ) as [Run[], Run[]];
  const writes = [...ready].map(
    ([path, feed]): Run =>
      () =>
        writeFeed(writer, path, feed),
  );
  await runAll(writer, [...writes, ...otherFeeds]);
  await runAll(writer, otherFiles);
}

type Run = () => Promise<void>;

function isRecent({ supersededMs }: State, path: string): boolean {
  const sinceMs = supersededMs.get(path) ?? performance.now();
  supersededMs.set(path, sinceMs);
  return performance.now() - sinceMs < SUPERSEDED_MS;
}

/** Goes on after an error, so that one path does not hold up the others. @throws the first error */
async function runAll(writer: Writer, runs: readonly Run[]): Promise<void> {
  const limit = pLimit(CONCURRENT_REQUESTS);
  const errors: unknown[] = [];
  const runWithLease = async (run: Run) => {
    if (writer.state.isClosed) throw new Error("The process ends");
    if (!(await keepLease(writer))) throw new Error("Another process writes the mirror");
    await run();
  };
  await limit.map(runs, (run) => runWithLease(run).catch((error) => errors.push(error)));
  if (errors.length > 0) throw errors[0];
}

const copyKey = (path: string, { artifact }: MirrorFile) => `${path} ${artifact.sha256}`;

/** The next file to copy. After a failure a file waits, and the others do not. */
function nextCopy({ failed, missing }: State, running: ReadonlySet<string>): [string, MirrorFile] | undefined {
  return [...missing].find(([path, file]) => {
    const key = copyKey(path, file);
    return !running.has(key) && (failed.get(key)?.retryMs ?? 0) <= performance.now();
  });
}

/** Copies what is missing, several files at a time, whatever is published or withdrawn meanwhile. */
async function copyMissing(writer: Writer): Promise<void> {
  const { state } = writer;
  const running = new Set<string>();
  const copyAll = async () => {
    for (let one = nextCopy(state, running); one && !state.isClosed; one = nextCopy(state, running)) {
      const [path, file] = one;
      const key = copyKey(path, file);
      running.add(key);
      await copy(writer, path, file).catch(async (error) => {
        if (state.isClosed || (await isWithdrawn(writer, path, file))) return;
        const { message = null, failures = 0 } = state.failed.get(key) ?? {};
        logOnce(writer, message, error);
        const failure = {
          message: `${path}: ${describe(error)}`,
          failures: failures + 1,
          retryMs: retryAfter(failures),
        };
        state.failed.set(key, failure);
      });
      running.delete(key);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_COPIES }, copyAll));
  state.copying = null;
}

/** Whether the catalog no longer offers a file. One that was removed may be gone before this process has read the catalog again. */
async function isWithdrawn({ catalog, state }: Writer, path: string, { artifact }: MirrorFile): Promise<boolean> {
  const isSame = (file: MirrorFile | undefined) => file?.artifact.sha256 === artifact.sha256;
  await catalog.refresh();
  const snapshot = catalog.current();
  if (isSame(state.missing.get(path)) && snapshot && ![...releaseFilesOf(snapshot).values()].some(isSame))
    state.missing.delete(path);
  return !isSame(state.missing.get(path));
}

async function copy(writer: Writer, path: string, file: MirrorFile): Promise<void> {
  const { allowed, catalog, state, storage, store } = writer;
  const root = catalog.current()?.root ?? null;
  const { sizeBytes, sha256 } = file.artifact;
  const isStopped = () => state.isClosed || state.missing.get(path)?.artifact.sha256 !== sha256; // withdrawn meanwhile
  const bytes = readSource({ root, storage, allowed, isStopped }, file.artifact);
  const tag = await store.write(path, objectOf(path, file), bytes);
  state.known.set(path, { sizeBytes, sha256, tag });
  state.missing.delete(path);
  state.failed.delete(copyKey(path, file));
  state.hasCopied = true;
}

function logOnce({ log }: Writer, before: string | null, error: unknown): void {
  if (!before?.endsWith(describe(error))) log.error({ err: error }, "the release mirror is behind: it is tried again");
}

function describe(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return (message || code || String(error)).slice(0, MAX_ERROR_LENGTH);
}
