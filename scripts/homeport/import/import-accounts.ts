import { createHash } from "node:crypto";
import { appendFile, readFile, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import pLimit from "p-limit";
import type { ImportQuery, ImportResult } from "../../../lib/accounts/import/schema";
import { MAX_IMPORT_BYTES, MAX_RECORDS } from "../../../lib/accounts/import/schema";
import { CommandError } from "../../../lib/errors";
import { secretOf } from "../../../lib/platform/config/secrets";
import type { CommandContext } from "../command";
import { drawShare } from "../terminal";
import { requestOf } from "../transport/operations";
import type { Refusal, SourceRecord } from "./records";
import { readSource, type SourceName, type SourceOptions } from "./sources";

export type ImportOptions = Partial<ImportQuery> & SourceOptions & { from?: SourceName };
export type Counts = Record<ImportResult["status"], number>;

/** Requests at a time: the service imports one batch while the next one is on its way. */
const CONCURRENCY = 2;
/** A character takes at most three bytes. */
const MAX_BATCH_LENGTH = MAX_IMPORT_BYTES / 4;

/** Records up to a line. `body` has those that could be read. */
type Batch = { sent: SourceRecord[]; unreadable: SourceRecord[]; body: string; lastLine: number };
/** A refused record, as it is written. */
type Refused = Partial<Refusal> & { line: number; field?: string; record: SourceRecord["value"] };

/**
 * Imports a file in batches. Records that are refused go to FILE.refused.ndjson, which can be mended and imported with the
 * same options. A run that was stopped goes on after its last batch, which FILE.progress names.
 * @throws CommandError, UsageError
 */
export async function importAccounts(
  { api, output }: Pick<CommandContext, "api" | "output">,
  file: string,
  options: ImportOptions,
): Promise<Counts> {
  const { from, hashConfig, columns, ...query } = options;
  const bar = createBar(await sizeOf(file));
  const progress = await openProgress(api, file, options);
  if (progress.line > 0) output.note(`Goes on after line ${progress.line} of ${file}.`);
  const send = async ({ sent, unreadable, body }: Batch) => {
    const results = sent.length > 0 ? await sendRecords(api, query, body) : [];
    bar.add(sent.length);
    const last = results.findLast(({ status }) => status !== "refused");
    const refused = [...refusedOf(sent, results), ...unreadable.map(toRefused)];
    return { results, refused, lastRecord: last && body.split("\n")[last.line - 1] };
  };
  const limit = pLimit(CONCURRENCY);
  const sending: Promise<void>[] = [];
  try {
    for await (const batch of batches(file, options, progress.line, bar.addBytes)) {
      const before = sending.at(-1);
      const done = limit(() => send(batch)).then(async (outcome) => {
        await before; // what is noted is complete up to its line
        await progress.note(batch.lastLine, outcome);
      });
      done.catch(() => {}); // awaited below
      sending.push(done);
      if (sending.length > CONCURRENCY) await sending.shift();
    }
    await Promise.all(sending);
  } finally {
    await Promise.allSettled(sending); // also of a file that cannot be read to its end
  }
  await progress.end();
  bar.end();
  return progress.counts;
}

async function sendRecords(
  { client }: CommandContext["api"],
  query: Partial<ImportQuery>,
  body: string,
): Promise<ImportResult[]> {
  const headers = { "content-type": "application/x-ndjson" };
  const request = { ...requestOf("importAccounts", { query }), headers, body };
  return (await client.json<{ results: ImportResult[] }>(request)).results;
}

/** Records in batches that the service accepts, after the line that an earlier run has reached. */
async function* batches(
  file: string,
  { from, ...options }: ImportOptions,
  after: number,
  onBytes: (count: number) => void,
): AsyncGenerator<Batch> {
  const newBatch = (): Batch => ({ sent: [], unreadable: [], body: "", lastLine: after });
  let batch = newBatch();
  for await (const { record, ...given } of readSource(from, { file, onBytes }, options)) {
    if (given.line <= after) continue;
    const text = record ? `${JSON.stringify(record)}\n` : "";
    const count = batch.sent.length + batch.unreadable.length;
    if (count === MAX_RECORDS || batch.body.length + text.length > MAX_BATCH_LENGTH) {
      yield batch;
      batch = newBatch();
    }
    (record ? batch.sent : batch.unreadable).push(given);
    batch.body += text;
    batch.lastLine = given.line;
  }
  if (batch.lastLine > after) yield batch;
}

const refusedOf = (sent: SourceRecord[], results: ImportResult[]): Refused[] =>
  results.flatMap(({ line, status, code, field, detail }) => {
    const given = sent[line - 1];
    return status === "refused" && given ? [{ line: given.line, code, field, detail, record: given.value }] : [];
  });

const toRefused = ({ line, value, refusal }: SourceRecord): Refused => ({ line, ...refusal, record: value });

async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch(() => null);
  if (!found?.isFile()) throw new CommandError("import_invalid", `${file} is not a file`);
  return found.size;
}

/**
 * What of a file has been imported. `FILE.progress` names the last line, so that a run that was stopped goes on after it, if
 * the file, the options and the service are the same. A dry run begins anew, and so does the run after it.
 */
async function openProgress(api: CommandContext["api"], file: string, options: ImportOptions) {
  const [progressFile, refusedFile] = [`${file}.progress`, `${file}.refused.ndjson`];
  const key = await keyOf(file, options);
  const known = options.dryRun ? null : await readProgress(api, file, key);
  const none: Counts = { created: 0, updated: 0, unchanged: 0, skipped: 0, refused: 0 };
  const { line, counts, refusedBytes } = known ?? { line: 0, counts: none, refusedBytes: 0 };
  let writtenBytes = refusedBytes;
  const isWritten = (done: Promise<void>) =>
    done.catch((error: Error) => {
      throw new CommandError("file_unwritable", `The outcome cannot be written beside ${file}: ${error.message}`);
    });
  if (known && refusedBytes > 0) await isWritten(truncate(refusedFile, refusedBytes));
  else await isWritten(rm(refusedFile, { force: true }));
  if (!known) await isWritten(rm(progressFile, { force: true }));
  let lastRecord = known?.lastRecord;
  const note = async (lastLine: number, outcome: Outcome) => {
    const { results, refused } = outcome;
    lastRecord = outcome.lastRecord ?? lastRecord;
    for (const { status } of results) if (status !== "refused") counts[status] += 1;
    counts.refused += refused.length;
    const lines = refused.sort((a, b) => a.line - b.line).map((one) => `${JSON.stringify(one)}\n`);
    if (lines.length > 0) await appendFile(refusedFile, lines.join(""), { mode: 0o600, flush: true });
    writtenBytes += Buffer.byteLength(lines.join(""));
    const progress: Progress = { key, line: lastLine, counts, refusedBytes: writtenBytes, lastRecord };
    if (options.dryRun) return;
    await writeFile(`${progressFile}.new`, JSON.stringify(progress), { mode: 0o600 });
    await rename(`${progressFile}.new`, progressFile);
  };
  return {
    line,
    counts,
    note: (...args: Parameters<typeof note>) => isWritten(note(...args)),
    end: () => isWritten(rm(progressFile, { force: true })),
  };
}

/** What happened to a batch, and its last record that the service has now. */
type Outcome = { results: ImportResult[]; refused: Refused[]; lastRecord: string | undefined };
type Progress = Pick<Outcome, "lastRecord"> & { key: string; line: number; counts: Counts; refusedBytes: number };

async function keyOf(file: string, options: ImportOptions): Promise<string> {
  const { HOMEPORT_URL, DATA_DIR } = process.env;
  const { size, mtimeMs } = await stat(file);
  const parts = [size, mtimeMs, options, HOMEPORT_URL, secretOf(process.env, "DATABASE_URL"), DATA_DIR];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** null if there is no progress of these options, or if the service or the file of refused records has lost what it had. */
async function readProgress(api: CommandContext["api"], file: string, key: string): Promise<Progress | null> {
  const known: Progress | null = await readFile(`${file}.progress`, "utf8")
    .then(JSON.parse)
    .catch(() => null);
  if (known?.key !== key || known.lastRecord === undefined) return null;
  const refused = await stat(`${file}.refused.ndjson`).catch(() => ({ size: 0 }));
  if (refused.size < known.refusedBytes) return null;
  const [result] = await sendRecords(api, { dryRun: true }, known.lastRecord);
  return result?.accountId === undefined || result.status === "created" ? null : known;
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
