import type { Prisma, PrismaClient } from "../../platform/db/generated/client";
import { REMOVAL_BATCH_SIZE, removeInBatches } from "../../platform/db/remove-in-batches";
import { identifier, join, sql } from "../../platform/db/sql";
import type { Tx } from "../../platform/db/transaction";
import { type AdoptionEntry, type AdoptionKey, keyText } from "./day-counts";
import { mergeSketch, packSketch, type Sketch, unpackSketch } from "./hyperloglog";

/** The rows of one transaction: it holds their locks while it merges the sketches. */
const BATCH_SIZE = 50;

type PackedSketch = Uint8Array | null;
type Row = AdoptionKey & { clients: PackedSketch; offeredClients: PackedSketch };

/** Adds one batch of counts to the rows of a UTC date, and removes it from `entries`. Locks rows in key order. */
export async function storeCounts(db: PrismaClient, date: string, entries: AdoptionEntry[]): Promise<void> {
  const batch = entries.slice(0, BATCH_SIZE).sort((a, b) => (keyText(a.key) < keyText(b.key) ? -1 : 1));
  await db.$transaction(async (tx) => {
    const rows = await addNumbers(tx, date, batch);
    const stored = new Map(rows.map((row) => [keyText(row), row]));
    const merged = await Promise.all(
      batch.map(async ({ key, counts }) => ({
        key,
        clients: await mergePacked(stored.get(keyText(key))?.clients, counts.clients),
        offeredClients: await mergePacked(stored.get(keyText(key))?.offeredClients, counts.offeredClients),
      })),
    );
    const changed = merged.filter(({ clients, offeredClients }) => clients ?? offeredClients);
    await writeSketches(tx, date, changed);
  });
  entries.splice(0, batch.length);
}

/** Adds the numbers, which creates or locks the rows, and returns their sketches. */
function addNumbers(tx: Tx, date: string, batch: readonly AdoptionEntry[]): Promise<Row[]> {
  const counts = batch.map((entry) => entry.counts);
  return tx.$queryRaw<Row[]>`
    INSERT INTO "AdoptionCount" AS stored ("day", "product", "platform", "architecture", "channel", "version",
      "checks", "offers", "downloadsStarted", "downloadsFinished")
    SELECT ${date}::date, added.* FROM unnest(
      ${keyColumns(batch)},
      ${counts.map(({ checks }) => checks)}::int[], ${counts.map(({ offers }) => offers)}::int[],
      ${counts.map(({ downloadsStarted }) => downloadsStarted)}::int[],
      ${counts.map(({ downloadsFinished }) => downloadsFinished)}::int[]) AS added
    ON CONFLICT ("day", "product", "platform", "architecture", "channel", "version") DO UPDATE SET
      "checks" = stored."checks" + EXCLUDED."checks", "offers" = stored."offers" + EXCLUDED."offers",
      "downloadsStarted" = stored."downloadsStarted" + EXCLUDED."downloadsStarted",
      "downloadsFinished" = stored."downloadsFinished" + EXCLUDED."downloadsFinished"
    RETURNING "product", "platform", "architecture", "channel", "version", "clients", "offeredClients"`;
}

/** The keys of rows as parameters of unnest. */
function keyColumns(rows: readonly { key: AdoptionKey }[]): Prisma.Sql {
  const names = ["product", "platform", "architecture", "channel", "version"] as const;
  return join(names.map((name) => sql`${rows.map(({ key }) => key[name])}::text[]`));
}

/** The union of a stored and a new sketch in base64; null if the stored one has all of the new one. */
async function mergePacked(packed: PackedSketch | undefined, added: Sketch | null): Promise<string | null> {
  if (!added) return null;
  const known = packed ? await unpackSketch(packed).catch(() => null) : null; // a damaged one must not block the others
  if (known && !mergeSketch(known, added)) return null;
  return (await packSketch(known ?? added)).toString("base64");
}

type MergedSketches = { key: AdoptionKey; clients: string | null; offeredClients: string | null };

async function writeSketches(tx: Tx, date: string, merged: readonly MergedSketches[]): Promise<void> {
  if (merged.length === 0) return;
  await tx.$executeRaw`
    UPDATE "AdoptionCount" AS stored SET
      "clients" = COALESCE(decode(merged."clients", 'base64'), stored."clients"),
      "offeredClients" = COALESCE(decode(merged."offeredClients", 'base64'), stored."offeredClients")
    FROM unnest(
      ${keyColumns(merged)},
      ${merged.map(({ clients }) => clients)}::text[], ${merged.map(({ offeredClients }) => offeredClients)}::text[])
      AS merged ("product", "platform", "architecture", "channel", "version", "clients", "offeredClients")
    WHERE stored."day" = ${date}::date AND stored."product" = merged."product"
      AND stored."platform" = merged."platform" AND stored."architecture" = merged."architecture"
      AND stored."channel" = merged."channel" AND stored."version" = merged."version"`;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const RETENTION_DAYS = 400;

/** Removes counts of checks, downloads and reports after 400 days. Returns how many rows. */
export async function removeOldCounts({ db, now }: { db: PrismaClient; now: () => Date }): Promise<number> {
  const before = new Date(now().getTime() - RETENTION_DAYS * DAY_MS);
  const adoption = await removeInBatches(() => removeBatch(db, "AdoptionCount", before));
  return adoption + (await removeInBatches(() => removeBatch(db, "UpdateReportCount", before)));
}

const removeBatch = (db: PrismaClient, table: string, before: Date) => db.$executeRaw`
  DELETE FROM ${identifier(table)} WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM ${identifier(table)} WHERE "day" < ${before}::date LIMIT ${REMOVAL_BATCH_SIZE}::int))`;
