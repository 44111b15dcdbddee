import { setTimeout as delay } from "node:timers/promises";
import { CommandError } from "../../../../lib/errors";

const MAX_REDIRECTS = 5;
const MAX_ATTEMPTS = 4;
/** Before the second attempt; then twice as long each time. */
const RETRY_DELAY_MS = 1_000;
/** A server that asks for more patience ends the run, which the next one continues. */
const MAX_WAIT_MS = 120_000;
const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;

export type Headers = Readonly<Record<string, string>>;

/** Whoever publishes somewhere else may not answer, or refuse the request. */
export const unavailable = (url: string, reason: string) =>
  new CommandError("source_unavailable", `${url} cannot be read: ${reason}`);

/**
 * Sends a GET. Repeats it after failures that may pass, waits as long as the server asks for, and follows redirects.
 * `authorization` goes to the first server alone.
 * @throws CommandError source_unavailable without a response, rate_limited if it would take too long
 */
export async function get(url: string, headers: Headers = {}): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await followRedirects(url, headers).catch((error: Error) => {
      if (error instanceof CommandError || attempt >= MAX_ATTEMPTS) throw asUnavailable(url, error);
      return null;
    });
    const waitMs = response === null ? backoff(attempt) : waitBeforeRetry(response, attempt);
    if (response !== null && (waitMs === null || (attempt >= MAX_ATTEMPTS && response.status !== 429))) return response;
    await response?.body?.cancel();
    if ((waitMs ?? 0) > MAX_WAIT_MS || attempt >= MAX_ATTEMPTS) throw rateLimited(url, waitMs ?? 0);
    await delay(waitMs ?? 0);
  }
}

const backoff = (attempt: number) => RETRY_DELAY_MS * 2 ** (attempt - 1);

export function asUnavailable(url: string, error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  const { message, cause } = error as Error;
  return unavailable(url, cause instanceof Error ? cause.message : message);
}

async function followRedirects(first: string, headers: Headers): Promise<Response> {
  const { authorization: _, ...others } = headers;
  let url = new URL(first);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const own = url.origin === new URL(first).origin ? headers : others;
    const sent = { "accept-encoding": "identity", "user-agent": "homeport", ...own };
    const response = await fetch(url, { headers: sent, redirect: "manual" });
    const location = response.headers.get("location");
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null) return response;
    await response.body?.cancel();
    const next = httpUrl(location, url.href);
    if (next === null) throw unavailable(first, `it redirects to ${location}, which is not an http or https URL.`);
    if (url.protocol === "https:" && next.protocol === "http:") {
      throw unavailable(first, `it redirects from https to ${next.origin}.`);
    }
    url = next;
  }
  throw unavailable(first, `it redirects more than ${MAX_REDIRECTS} times.`);
}

/** Resolves a URL that others wrote. null: not an http or https one. */
export function httpUrl(text: string, base?: string): URL | null {
  const url = URL.canParse(text, base) ? new URL(text, base) : null;
  return url !== null && /^https?:$/.test(url.protocol) ? url : null;
}

/** null: another attempt would bring the same response. */
function waitBeforeRetry({ status, headers }: Response, attempt: number): number | null {
  const isLimited = status === 429 || (status === 403 && (headers.has("retry-after") || hasNoRequestsLeft(headers)));
  if (!isLimited) return status >= 500 || status === 408 ? backoff(attempt) : null;
  const after = Number(headers.get("retry-after") ?? Number.NaN);
  const reset = Number(headers.get("x-ratelimit-reset") ?? Number.NaN);
  if (Number.isFinite(after)) return Math.max(after * 1000, 0);
  if (hasNoRequestsLeft(headers) && Number.isFinite(reset)) return Math.max(reset * 1000 - Date.now(), 0);
  return backoff(attempt);
}

/** GitHub, "Rate limits for the REST API". */
const hasNoRequestsLeft = (headers: Response["headers"]) => headers.get("x-ratelimit-remaining") === "0";

function rateLimited(url: string, waitMs: number): CommandError {
  const { host } = new URL(url);
  const at = new Date(Date.now() + waitMs).toISOString().slice(0, 16);
  const more = host.includes("github") ? " GitHub permits more with GITHUB_TOKEN." : "";
  return new CommandError(
    "rate_limited",
    `${host} permits no more requests until ${at}Z. Run the command again then: it goes on where it stopped.${more}`,
  );
}

/** A document. @throws CommandError */
export async function getDocument(url: string, headers: Headers = {}): Promise<{ text: string; response: Response }> {
  const response = await get(url, headers);
  if (response.ok) return { text: await readText(url, response), response };
  await response.body?.cancel();
  throw unavailable(url, `the response status is ${response.status}.`);
}

/** The text of a document that need not exist: null if the server has none, or says so with a page. @throws CommandError */
export async function findDocument(url: string): Promise<{ text: string; response: Response } | null> {
  const response = await get(url);
  const text = response.status < 500 ? await readText(url, response) : "";
  if (response.status >= 500) throw unavailable(url, `the response status is ${response.status}.`);
  return response.ok && !text.trimStart().startsWith("<") ? { text, response } : null;
}

const readText = async (url: string, response: Response): Promise<string> =>
  (await readBytes(url, response)).toString("utf8").replace(/^\ufeff/, "");

/** The body of a document. @throws CommandError source_unavailable for a larger one than documents are */
export async function readBytes(url: string, { body }: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  try {
    for await (const chunk of body ?? []) {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > MAX_DOCUMENT_BYTES) throw unavailable(url, "it has more than 16 MiB.");
      chunks.push(chunk);
    }
  } catch (error) {
    throw asUnavailable(url, error);
  }
  return Buffer.concat(chunks);
}
