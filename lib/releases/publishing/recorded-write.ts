import { createHash } from "node:crypto";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { Context, Tx } from "../../context";
import { readDatabaseTime } from "../../platform/db/clock";
import { newId } from "../../platform/db/ids";
import { ifMissing, moveDurably, writeDurably } from "../../platform/files/durable";
import type { Release } from "../schema";

type Deps = Pick<Context, "db" | "dbNow">;
type Before = { releases: readonly Release[] };

/** What a change of a manifest does to the database: events, schedules and webhooks. */
export type ChangeRecord<T> = {
  deps: Deps;
  /** Runs in the transaction that decides whether the manifest changes. `before` is the manifest that it replaces. */
  record: (tx: Tx, at: Date, result: T, before: Before) => Promise<void>;
};

/** Records a change that leaves the manifest as it is. */
export async function recordUnwritten<T>({ deps, record }: ChangeRecord<T>, result: T, before: Before) {
  await deps.db.$transaction(async (tx) => record(tx, await readDatabaseTime({ ...deps, db: tx }), result, before));
}

/**
 * Stages a manifest in a file, commits the record of its change with the name of that file, and moves it into place.
 * Whatever stops the process in between, `finishInterruptedWrites` completes the change if the record was committed.
 */
export async function writeRecorded<T>(
  target: string,
  bytes: Uint8Array,
  change: ChangeRecord<T> & { result: T; before: Before },
): Promise<void> {
  const { deps, record, result, before } = change;
  const id = newId();
  const staged = `${target}.${id}.${await fingerprintOf(target)}.next`;
  const found = await stat(target).catch(() => null);
  await writeDurably(staged, bytes, found ? { mode: found.mode & 0o777 } : {});
  try {
    await deps.db.$transaction(async (tx) => {
      const at = await readDatabaseTime({ ...deps, db: tx });
      await record(tx, at, result, before);
      await tx.catalogChange.create({ data: { id, at } });
    });
  } catch (error) {
    const isCommitted = await isRecorded(deps, id).catch(() => null); // the connection may be lost while it commits
    if (isCommitted === false) await rm(staged);
    if (isCommitted !== true) throw error;
  }
  await finishWrite(deps, id, staged, target);
}

/** Completes or discards the writes of a manifest that a crash has interrupted. Call it with the manifest's lock. */
export async function finishInterruptedWrites(deps: Deps, target: string): Promise<void> {
  for (const { id, replaces, staged } of await listStagedWrites(target)) {
    const isCurrent = replaces === (await fingerprintOf(target)); // otherwise somebody has edited the file since
    if (isCurrent && (await isRecorded(deps, id))) await finishWrite(deps, id, staged, target);
    else await rm(staged);
  }
}

export async function listStagedWrites(target: string) {
  const names = await readdir(path.dirname(target)).catch(() => []);
  return names.flatMap((name) => {
    const [, id, replaces] = name.startsWith(`${path.basename(target)}.`) ? (STAGED.exec(name) ?? []) : [];
    return id && replaces ? [{ id, replaces, staged: path.join(path.dirname(target), name) }] : [];
  });
}

const STAGED = /\.([0-9a-f-]{36})\.([0-9a-f]{16})\.next$/;

async function finishWrite({ db }: Deps, id: string, staged: string, target: string): Promise<void> {
  await moveDurably(staged, target);
  try {
    await db.catalogChange.deleteMany({ where: { id } });
  } catch {
    // The change is done, and a row that stays does no harm.
  }
}

/**
 * Whether a change was committed. The server may still commit it after its connection broke: the insertion of the same row
 * waits for that, where a query would not see the row.
 */
async function isRecorded({ db }: Deps, id: string): Promise<boolean> {
  return db.$transaction(async (tx) => {
    const { count } = await tx.catalogChange.createMany({ data: [{ id, at: new Date(0) }], skipDuplicates: true });
    if (count > 0) await tx.catalogChange.delete({ where: { id } });
    return count === 0;
  });
}

/** Identifies the content of a manifest; a missing one is empty. */
async function fingerprintOf(file: string): Promise<string> {
  const bytes = await readFile(file).catch(ifMissing(""));
  return createHash("sha256").update(bytes).digest("hex").slice(0, 16);
}
