import { existsSync } from "node:fs";
import { appendFile, readFile, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { CommandError } from "../../../lib/errors";
import type { PurchaseImportQuery } from "../../../lib/subscriptions/import/schema";
import { MAX_IMPORT_BYTES, MAX_IMPORT_LINES } from "../../../lib/subscriptions/import/schema";
import type { CommandContext } from "../command";
import { drawShare } from "../terminal";
import { type ResultOf, requestOf } from "../transport/operations";
import { invalid, readCsv, readLines, type SourceFile } from "./records";

type Options = Pick<PurchaseImportQuery, "from" | "match" | "dryRun"> & { file: string | undefined };
type Page = ResultOf<"importPurchases">;
type Imported = Page["results"][number];

const COUNTED = ["matched", "unmatched", "created", "updated", "unchanged", "ignored", "failed"] as const;
type Counts = Record<(typeof COUNTED)[number], number>;
/** `listed`: those that nobody has, that differed or that failed. */
type Outcome = { counts: Counts; listed: Imported[] };

/** How often in a row to wait for a provider, and for how long at most. */
const MAX_WAITS = 5;
const MAX_WAIT_SECONDS = 300;

/** A request's body, of these lines of the file; undefined for a provider's list. */
type Part = { body: string | undefined; lines: number[]; refused: Imported[] };

/**
 * Imports a source part by part. A run that was stopped goes on after its last request, which a file names: FILE.progress,
 * or billing-import-SOURCE.progress in DATA_DIR or the current folder.
 * @throws CommandError
 */
export async function importPurchases(context: CommandContext, options: Options): Promise<Outcome> {
  const { from, match, dryRun, file } = options;
  const progress = await openProgress(options);
  const outcome: Outcome = { counts: progress.counts, listed: progress.listed };
  let last = progress.position;
  for await (const { body, lines, refused } of partsOf(options, last.line)) {
    for (let cursor = last.cursor, isDone = false, waits = 0; !isDone; ) {
      const page = await sendPart(context, { from, match, dryRun, ...(cursor !== null && { cursor }) }, body);
      await progress.assertNew(page);
      isDone = page.nextCursor === null && page.retry === null;
      const read = page.results.map((one) => ({ ...one, line: one.line && (lines[one.line - 1] ?? null) }));
      const results = isDone ? [...read, ...refused] : read;
      add(outcome, results);
      cursor = page.nextCursor;
      last = { line: isDone ? (lines.at(-1) ?? 0) : last.line, cursor };
      await progress.write(last, results);
      drawShare(
        "purchases",
        0,
        `${outcome.counts.matched + outcome.counts.unmatched} read${file ? `, line ${last.line}` : ""}`,
      );
      waits = results.some(({ status }) => status !== "failed") ? 0 : waits;
      if (page.retry) await waitFor(context, page.retry, ++waits);
    }
  }
  drawShare("purchases", 1);
  await progress.remove();
  return outcome;
}

type Query = Pick<Options, "from" | "match" | "dryRun"> & { cursor?: string };

function sendPart({ api }: CommandContext, query: Query, body: string | undefined): Promise<Page> {
  const headers = { "content-type": "application/x-ndjson" };
  const request = requestOf("importPurchases", { query });
  return api.client.json<Page>(body === undefined ? request : { ...request, headers, body });
}

/** @throws CommandError if the provider keeps asking to wait */
async function waitFor(
  { output }: CommandContext,
  { afterSeconds, reason }: NonNullable<Page["retry"]>,
  waits: number,
) {
  if (waits >= MAX_WAITS)
    throw new CommandError("billing_api_failed", `${reason}. The same command goes on where this one has stopped.`);
  const seconds = Math.min(afterSeconds, MAX_WAIT_SECONDS);
  output.note(`${reason}. Trying again in ${seconds} s.`);
  await delay(seconds * 1000);
}

function add({ counts, listed }: Outcome, results: readonly Imported[]): void {
  for (const result of results) {
    counts[result.status] += 1;
    const isPurchase = result.status !== "failed" && result.status !== "ignored";
    if (isPurchase) counts[result.accountId === null ? "unmatched" : "matched"] += 1;
    if (isListed(result)) listed.push(result);
  }
}

const isListed = ({ accountId, status }: Imported) =>
  status === "failed" || status === "updated" || (accountId === null && status !== "ignored");

/** The lines of the file after one, in parts that a request may have. Without a file, one part without a body. */
async function* partsOf({ from, file }: Options, after: number): AsyncGenerator<Part> {
  if (file === undefined) return yield { body: undefined, lines: [], refused: [] };
  const asOf = (await statOf(file)).mtime.toISOString();
  const source = { file, onBytes: () => {} };
  let part: Part & { body: string } = { body: "", lines: [], refused: [] };
  for await (const { line, record, refusal } of from === "csv" ? readTable(source, asOf) : readIds(from, source)) {
    if (line <= after) continue;
    const text = JSON.stringify(record);
    const isFull = part.lines.length === MAX_IMPORT_LINES || part.body.length + text.length > MAX_IMPORT_BYTES / 4;
    if (isFull) {
      yield part;
      part = { body: "", lines: [], refused: [] };
    }
    if (refusal) part.refused.push({ ...NOTHING, line, failure: refusal });
    part.lines.push(line);
    part.body += `${refusal ? "" : text}\n`;
  }
  if (part.lines.length > 0) yield part;
}

const NOTHING = {
  status: "failed",
  id: null,
  customer: null,
  store: null,
  productId: null,
  accountId: null,
  differences: [],
} satisfies Partial<Imported>;

type FileRecord = { line: number; record: Record<string, unknown>; refusal?: string };

/** Ids, one a line. One of the App Store may be followed by a comma and what the customer is called. */
async function* readIds(from: Options["from"], source: SourceFile): AsyncGenerator<FileRecord> {
  for await (const { line, text } of readLines(source)) {
    const [transactionId, customer] = (text ?? "").split(",").map((cell) => cell.trim());
    const record = from === "revenuecat" ? { appUserId: text } : { transactionId, ...(customer && { customer }) };
    yield { line, record, ...(text === null && { refusal: "is too long" }) };
  }
}

/** @throws CommandError without the columns that are required */
async function* readTable(source: SourceFile, asOf: string): AsyncGenerator<FileRecord> {
  let isFirst = true;
  for await (const { line, value, refusal } of readCsv(source)) {
    if (refusal) yield { line, record: {}, refusal: refusal.detail };
    else if (isFirst && !REQUIRED_COLUMNS.every((name) => name in value))
      throw invalid(source.file, 1, `a heading with ${REQUIRED_COLUMNS.join(", ")}`);
    else yield { line, record: toRecord(value, asOf) };
    isFirst = false;
  }
}

const REQUIRED_COLUMNS = ["transactionId", "productId", "purchasedAt"];
const BOOLEANS = new Map([
  ["true", true],
  ["false", false],
  ["1", true],
  ["0", false],
  ["yes", true],
  ["no", false],
]);
const TIMES = ["startedAt", "purchasedAt", "expiresAt", "refundedAt", "asOf"];
const FLAGS = ["isSubscription", "isTrial", "willRenew"];

/** A row as a record: empty cells are left out. What cannot be read is left for the service to refuse. */
function toRecord(row: Record<string, unknown>, asOf: string): Record<string, unknown> {
  const cells = Object.entries(row).flatMap(([name, cell]) => {
    const text = String(cell).trim();
    return text === "" ? [] : [[name.trim(), toValue(name.trim(), text)] as const];
  });
  return { asOf, ...Object.fromEntries(cells) };
}

function toValue(name: string, text: string): unknown {
  if (name === "entitlementIds") return text.split(/[;|]/).map((id) => id.trim());
  if (FLAGS.includes(name)) return BOOLEANS.get(text.toLowerCase()) ?? text;
  if (!TIMES.includes(name)) return text;
  const ms = Date.parse(
    /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(text) ? `${text.replace(" ", "T")}Z` : text,
  );
  return Number.isNaN(ms) ? text : new Date(ms).toISOString();
}

async function statOf(file: string) {
  return stat(file).catch((error: Error) => {
    throw new CommandError("import_invalid", `${file} cannot be read: ${error.message}`);
  });
}

type Position = { line: number; cursor: string | null };
type Entry = { position: Position; counts: Counts; listed: Imported[] };

/** Where to keep what belongs to no file: in DATA_DIR if this machine has it, else in the current folder. */
const findFolder = () => [process.env.DATA_DIR?.trim() || "./data", "."].find((folder) => existsSync(folder)) ?? ".";

/** What stopped runs of the same import have reached: a line of JSON for each request. A dry run keeps nothing. */
async function openProgress({ from, match, dryRun, file }: Options) {
  const name = `${file ?? path.join(findFolder(), `billing-import-${from}`)}.progress`;
  const { size = 0, mtimeMs = 0 } = file === undefined ? {} : await statOf(file);
  const head = JSON.stringify({ from, match, size, mtimeMs });
  const none: Counts = { matched: 0, unmatched: 0, created: 0, updated: 0, unchanged: 0, ignored: 0, failed: 0 };
  const known = dryRun ? "" : await readFile(name, "utf8").catch(() => "");
  const entries = known.startsWith(`${head}\n`) ? parseEntries(known.slice(head.length + 1)) : [];
  let kept: string[] | null = [head, ...entries.map((entry) => JSON.stringify(entry))];
  const counts = entries.at(-1)?.counts ?? none;
  const seen = new Set(entries.map(({ position }) => position.cursor));
  return {
    position: entries.at(-1)?.position ?? { line: 0, cursor: null },
    counts,
    listed: entries.flatMap(({ listed }) => listed),
    /** @throws CommandError for a list that comes back to a page */
    assertNew: async ({ nextCursor, retry }: Page) => {
      const isRepeated = file === undefined && retry === null && nextCursor !== null && seen.has(nextCursor);
      if (isRepeated && !dryRun) await rm(name, { force: true });
      if (isRepeated) throw new CommandError("billing_api_failed", "The provider's list does not end: a page repeats.");
      seen.add(nextCursor);
    },
    write: async (position: Position, results: readonly Imported[]) => {
      if (dryRun) return;
      const entry = JSON.stringify({ position, counts, listed: results.filter(isListed) } satisfies Entry);
      if (kept) await writeFile(name, `${[...kept, entry].join("\n")}\n`, { mode: 0o600 });
      else await appendFile(name, `${entry}\n`);
      kept = null;
    },
    remove: () => (dryRun ? Promise.resolve() : rm(name, { force: true })),
  };
}

/** A line that was being written when the run was stopped is left out, with those after it. */
function parseEntries(text: string): Entry[] {
  const entries: Entry[] = [];
  for (const line of text.split("\n")) {
    try {
      entries.push(JSON.parse(line));
    } catch {
      break;
    }
  }
  return entries;
}
