import { setTimeout as delay } from "node:timers/promises";
import { CodedError, UsageError } from "../../../../command-line";

const MAX_ATTEMPTS = 6;
/** Before the second attempt; then twice as long each time. */
const RETRY_DELAY_MS = 1_000;
const TIMEOUT_MS = 300_000;
/** Responses that a repetition of the request may change. */
const RETRIED_STATUSES = new Set([408, 423, 425, 429, 500, 502, 503, 504]);
const RETRIED_CODES = new Set(["request_in_progress"]);

type HttpRequest = {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
};

/** A service at a URL, with the API key that the requests have. */
export type HttpClient = {
  url: string;
  /** How long to wait before the second attempt of a request. */
  retryDelayMs: number;
  /** Sends one request. Rejects if there is no response. */
  send: (request: HttpRequest) => Promise<Response>;
  /**
   * Sends a request that may be repeated until there is a response. Returns its JSON.
   * @throws CodedError for an error's code, `unreachable` without a response
   */
  json: <T>(request: HttpRequest) => Promise<T>;
};

/** @throws UsageError if the URL would send the key in the clear, or the key is missing */
export function createHttpClient(baseUrl: string, key: string | undefined, retryDelayMs = RETRY_DELAY_MS): HttpClient {
  const url = parseBaseUrl(baseUrl);
  if (!key) throw new UsageError("HOMEPORT_URL requires HOMEPORT_API_KEY: create one with `npm run keys`.");
  const send: HttpClient["send"] = ({ method, path, headers = {}, body }) =>
    fetch(`${url}${path}`, {
      method,
      headers: { accept: "application/json", authorization: `Bearer ${key}`, ...headers },
      redirect: "error", // never shows the key to another server
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body !== undefined && { body }),
    });
  const json = async <T>(request: HttpRequest): Promise<T> => {
    for (let attempt = 1; ; attempt += 1) {
      const { value, error, retryAfterMs } = await attemptJson<T>(() => send(request), url);
      if (!error) return value as T;
      if (retryAfterMs === null || attempt >= MAX_ATTEMPTS) throw error;
      await delay(retryAfterMs || retryDelayMs * 2 ** (attempt - 1));
    }
  };
  return { url, retryDelayMs, send, json };
}

function parseBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isOwnMachine = url !== null && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isOwnMachine)) return url.href.replace(/\/+$/, "");
  throw new UsageError(
    "HOMEPORT_URL must be an https URL. http is for this machine alone, since requests contain the key.",
  );
}

/** `retryAfterMs` null: a repetition would fail too. 0: the server does not say when. */
type Attempt<T> = { value?: T; error?: CodedError; retryAfterMs: number | null };

async function attemptJson<T>(send: () => Promise<Response>, url: string): Promise<Attempt<T>> {
  let response: Response;
  try {
    response = await send();
    if (response.ok)
      return { value: (response.status === 204 ? null : await response.json()) as T, retryAfterMs: null };
  } catch (error) {
    return { error: unreachable(url, error), retryAfterMs: 0 };
  }
  const error = await toError(response);
  const isRetried = RETRIED_STATUSES.has(response.status) || RETRIED_CODES.has(error.code);
  const seconds = Number(response.headers.get("retry-after") ?? 0) || 0;
  return { error, retryAfterMs: isRetried ? Math.min(seconds, 60) * 1000 : null };
}

type Problem = { code?: string; title?: string; detail?: string; errors?: { pointer: string; detail: string }[] };

/** The error that a problem document describes (RFC 9457), with the fields that are invalid. */
export async function toError(response: Response): Promise<CodedError> {
  const problem = (await response.json().catch(() => ({}))) as Problem;
  const {
    code = `http_${response.status}`,
    title = `The response status is ${response.status}`,
    errors = [],
  } = problem;
  const fields = errors.map(({ pointer, detail }) => `\n  - ${pointer}: ${detail}`).join("");
  return new CodedError(code, `${problem.detail ? `${title}: ${problem.detail}` : title}${fields}`);
}

/** The service did not respond. */
export function unreachable(url: string, error: unknown): CodedError {
  const { message, cause } = error as Error;
  const reason = cause instanceof Error ? cause.message : message;
  return new CodedError("unreachable", `${url} cannot be reached: ${reason}`);
}
