import { appendFile, readFile, rm, stat, writeFile } from "node:fs/promises";
import pLimit from "p-limit";
import type { ImportQuery, ImportResult } from "../../../lib/accounts/import/schema";
import { MAX_IMPORT_BYTES, MAX_RECORDS } from "../../../lib/accounts/import/schema";
import { CommandError } from "../../../lib/errors";
import type { CommandContext } from "../command";
import { drawShare } from "../terminal";
import { requestOf } from "../transport/operations";
import { readNdjson, type SourceRecord } from "./records";
import { type SourceName, type SourceOptions, sourceOf } from "./sources";

export type ImportOptions = Partial<ImportQuery> & SourceOptions & { from?: SourceName };

/** Requests at a time: the service imports one batch while the next one is on its way. */
const CONCURRENCY = 2;
const REFUSED = ".refused.ndjson";

type Batch = { records: SourceRecord[]; body: string };
type Counts = Record<ImportResult["status"], number>;

/**
 * Imports a file in batches. Records that are refused go to FILE.refused.ndjson, which can be mended and imported with the
 * same options. A run that was stopped goes on after its last batch, which FILE.progress names.
 * @throws CommandError
 */
export async function importAccounts({ api }: CommandContext, file: string, options: ImportOptions): Promise<Counts> {
  const { from, hashConfig, columns, ...query } = options;
  const counts: Counts = { created: 0, updated: 0, unchanged: 0, skipped: 0, refused: 0 };
  const progress = query.dryRun ? null : await openProgress(file);
  const sizeBytes = await sizeOf(file);
  if (!progress?.line) await rm(`${file}${REFUSED}`, { force: true });
  const bar = createBar(sizeBytes);
  const send = async ({ records, body }: Batch) => {
    const headers = { "content-type": "application/x-ndjson" };
    const request = { ...requestOf("importAccounts", { query }), headers, body };
    const { results } = await api.client.json<{ results: ImportResult[] }>(request);
    for (const { status } of results) counts[status] += 1;
    await writeRefused(file, records, results);
    bar.add(records.length);
  };
  const limit = pLimit(CONCURRENCY);
  const sent: Promise<void>[] = [];
  for await (const batch of batches(file, options, progress?.line ?? 0, bar.addBytes)) {
    const last = batch.records.at(-1)?.line ?? 0;
    const before = sent.at(-1);
    const done = limit(() => send(batch)).then(async () => {
      await before; // what is noted is complete up to its line
      await progress?.write(last);
    });
    done.catch(() => {}); // awaited below
    sent.push(done);
    if (sent.length > CONCURRENCY) await sent.shift();
  }
  await Promise.all(sent);
  await progress?.remove();
  bar.end();
  return counts;
}

/** Records in batches that the service accepts, after the line that an earlier run has reached. */
async function* batches(file: string, options: ImportOptions, after: number, onBytes: (count: number) => void) {
  const source = sourceOf(options.from);
  const isRefused = file.endsWith(REFUSED);
  let batch: Batch = { records: [], body: "" };
  for await (const { line, value } of isRefused ? readNdjson({ file, onBytes }) : source.read({ file, onBytes })) {
    if (line <= after) continue;
    const given = isRefused ? (value.record as SourceRecord["value"]) : value;
    const text = `${JSON.stringify(source.toRecord(given, options))}\n`;
    const isFull = batch.records.length === MAX_RECORDS || batch.body.length + text.length > MAX_IMPORT_BYTES / 4;
    if (isFull) {
      yield batch;
      batch = { records: [], body: "" };
    }
    batch.records.push({ line, value: given });
    batch.body += text;
  }
  if (batch.records.length > 0) yield batch;
}

/** In the source's own form, with the line and the reason. */
async function writeRefused(file: string, records: SourceRecord[], results: ImportResult[]): Promise<void> {
  const lines = results.flatMap(({ line, status, code, field, detail }) => {
    const record = records[line - 1];
    return status === "refused" && record
      ? [JSON.stringify({ line: record.line, code, field, detail, record: record.value })]
      : [];
  });
  if (lines.length > 0) await appendFile(`${file}${REFUSED}`, `${lines.join("\n")}\n`, { mode: 0o600 });
}

async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    throw new CommandError("import_invalid", `${file} cannot be read: ${(error as Error).message}`);
  }
}

/** The last line that a stopped run has imported, of the same file. */
async function openProgress(file: string) {
  const name = `${file}.progress`;
  const { size, mtimeMs } = await stat(file).catch(() => ({ size: 0, mtimeMs: 0 }));
  const known = await readFile(name, "utf8")
    .then(JSON.parse)
    .catch(() => null);
  return {
    line: known?.size === size && known?.mtimeMs === mtimeMs ? Number(known.line) : 0,
    write: (line: number) => writeFile(name, JSON.stringify({ size, mtimeMs, line })),
    remove: () => rm(name, { force: true }),
  };
}

function createBar(sizeBytes: number) {
  const startedMs = performance.now();
  let [bytes, records] = [0, 0];
  return {
    addBytes: (count: number) => {
      bytes += count;
    },
    add: (count: number) => {
      records += count;
      const seconds = (performance.now() - startedMs) / 1000;
      const share = Math.min(bytes / Math.max(sizeBytes, 1), 0.99);
      const left = Math.round(seconds / Math.max(share, 0.001) - seconds);
      drawShare("accounts", share, `${Math.round(records / seconds)}/s, ${left} s left`);
    },
    end: () => drawShare("accounts", 1),
  };
}
