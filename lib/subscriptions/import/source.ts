import { setTimeout as delay } from "node:timers/promises";
import type { z } from "zod";
import { isAppError } from "../../errors";
import { parseBody } from "../../platform/http/validation";
import { type Api, type FoundPurchase, failed } from "../sources/source";
import type { ImportPosition, PurchaseImportQuery } from "./schema";

export type Query = Pick<PurchaseImportQuery, "match" | "cursor">;
export type Line = { line: number; text: string };
/** `line` null: a list of the provider has it. */
export type PurchaseOfLine = FoundPurchase & { line: number | null };

export type Failure = { line: number | null; id: string | null; failure: string };
export type Retry = { afterSeconds: number; reason: string };
/** What a request has read. `next`: where the next one continues; null at the end. */
export type SourceBatch = {
  found: PurchaseOfLine[];
  failures: Failure[];
  retry: Retry | null;
  next: ImportPosition | null;
};

const RETRY_SECONDS = 5;
/** A provider that fails so often in a row does not fail because of a customer. */
const MAX_FAILURES = 5;
const MAX_REQUEST_MS = 10_000;

/** How long to wait after an error of an API; null: a repetition would fail, too. */
function retryOf(error: unknown): Retry | null {
  const { retryAfterSeconds, status, name, message } = error as Error & { retryAfterSeconds?: number; status?: number };
  if (retryAfterSeconds !== undefined) return { afterSeconds: retryAfterSeconds, reason: message };
  const isPassing = name === "BillingApiError" && (status === undefined || status >= 500);
  return isPassing ? { afterSeconds: RETRY_SECONDS, reason: message } : null;
}

/** Reads a page of a list, which continues after the last id. @throws AppError billing_api_failed */
export async function readPage<Page extends { entries: readonly { id: string }[]; hasMore: boolean }>(
  api: Api,
  after: string | null,
  readEntries: () => Promise<Page>,
): Promise<{ page: Page; next: ImportPosition | null } | { retry: Retry }> {
  let page: Page;
  try {
    page = await readEntries();
  } catch (error) {
    const retry = retryOf(error);
    if (retry) return { retry };
    throw failed(api, error);
  }
  const last = page.entries.at(-1)?.id ?? after;
  if (page.hasMore && last === after) throw failed(api, new Error("the list does not end: a page repeats"));
  return { page, next: page.hasMore && last !== null ? { after: last } : null };
}

export const positionOf = ({ cursor }: Query) => (cursor === undefined ? null : String(cursor.after));
export const waiting = (retry: Retry, { cursor }: Query): SourceBatch => ({
  found: [],
  failures: [],
  retry,
  next: cursor ?? null,
});

/** Calls an API at a steady pace. */
export function paced<Result>(
  intervalMs: number,
  call: (id: string) => Promise<Result>,
): (id: string) => Promise<Result> {
  let nextMs = 0;
  return async (id) => {
    await delay(Math.max(nextMs - performance.now(), 0));
    nextMs = performance.now() + intervalMs;
    return call(id);
  };
}

/** What an API is asked about, one after the other. `after`: the position behind it. */
export type Question = { line: number | null; id: string; after: ImportPosition["after"] };

/**
 * Asks an API about one thing after the other, for a limited time. One that fails does not stop the others, unless the API
 * refuses the key, limits requests or fails for each.
 * @throws AppError billing_api_failed
 */
export async function askEach<One extends Question>(
  api: Api,
  questions: readonly One[],
  { start, isEnd }: { start: ImportPosition | null; isEnd: boolean },
  ask: (question: One) => Promise<PurchaseOfLine[]>,
): Promise<SourceBatch> {
  const deadline = performance.now() + MAX_REQUEST_MS;
  const batch: SourceBatch = { found: [], failures: [], retry: null, next: start };
  let failuresInRow = 0;
  for (const question of questions) {
    const { line, id, after } = question;
    if (performance.now() > deadline) return batch;
    try {
      batch.found.push(...(await ask(question)));
      failuresInRow = 0;
    } catch (error) {
      const { retryAfterSeconds, status } = error as { retryAfterSeconds?: number; status?: number };
      if (status === 401 || status === 403) throw failed(api, error);
      const isOfApi = isAppError(error) || (error as Error).name === "BillingApiError";
      failuresInRow = isOfApi ? failuresInRow + 1 : 0;
      if (retryAfterSeconds !== undefined || failuresInRow >= MAX_FAILURES) {
        const retry = retryOf(error);
        if (!retry) throw failed(api, error);
        return { ...batch, retry };
      }
      const { message } = isAppError(error) ? { message: error.extras.detail ?? error.message } : (error as Error);
      batch.failures.push({ line, id, failure: message });
    }
    batch.next = { after };
  }
  return isEnd ? { ...batch, next: null } : batch;
}

/** The records of the lines after a position, and why others are none. */
export function parseLines<Record>(schema: z.ZodType<Record>, lines: readonly Line[], { cursor }: Query) {
  const entries: { line: number; after: number; record: Record }[] = [];
  const failures: Failure[] = [];
  for (const { line, text } of lines) {
    if (line <= Number(cursor?.after ?? 0)) continue;
    try {
      entries.push({ line, after: line, record: parseBody(schema, JSON.parse(text)) });
    } catch (error) {
      const [field] = isAppError(error) ? (error.extras.errors ?? []) : [];
      failures.push({ line, id: null, failure: field ? `${field.pointer} ${field.detail}`.trim() : "expected JSON" });
    }
  }
  return { entries, failures, isEnd: true };
}

/** Adds the failures of the lines that a request has reached. */
export function withFailures(batch: SourceBatch, failures: readonly Failure[]): SourceBatch {
  const isEnd = batch.next === null && batch.retry === null;
  const reached = isEnd ? Number.POSITIVE_INFINITY : Number(batch.next?.after ?? 0);
  return { ...batch, failures: [...failures.filter(({ line }) => (line ?? 0) <= reached), ...batch.failures] };
}
