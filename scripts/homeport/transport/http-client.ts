import { setTimeout as delay } from "node:timers/promises";
import { CommandError } from "../../../lib/errors";
import { UsageError } from "../../command-line";

/** Of a request that may be repeated. */
const MAX_ATTEMPTS = 6;
/** Before the second attempt; then twice as long each time. */
const RETRY_DELAY_MS = 1_000;
/** As long as all attempts wait together. */
const MAX_RETRY_AFTER_SECONDS = 300;
const TIMEOUT_MS = 300_000;
/** Responses that a repetition of the request may change. */
const RETRIED_STATUSES = new Set([408, 423, 425, 429, 500, 502, 503, 504]);
const RETRIED_CODES = new Set(["request_in_progress"]);
/** The codes of errors of the database that a repetition meets again: it was waited for. */
const LASTING_ERRORS = new Map([
  ["DataMovedError", "data_moved"],
  ["DataDirInUseError", "service_running"],
]);

/** A request to a path of the service, with its query. */
export type HttpRequest = {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
};

/** A response, as `fetch` and node:http have it. */
export type ApiResponse = Pick<Response, "status" | "ok" | "text" | "json"> & {
  headers: Pick<Headers, "get">;
  body: Pick<ReadableStream, "cancel"> | null;
};

/** A service, and who sends the requests. Its routes may also run in this process. */
export type HttpClient = {
  url: string;
  /** How long to wait before the second attempt of a request. */
  retryDelayMs: number;
  /** Sends one request. Rejects if there is no response. */
  send: (request: HttpRequest) => Promise<ApiResponse>;
  /**
   * Sends a request that may be repeated until there is a response. Says on stderr when it does. Returns its JSON; null for
   * one without a body.
   * @throws CommandError for an error's code, `unreachable` without a response, `invalid_response` if it is not JSON, at once for
   * one that `send` throws
   */
  json: <T>(request: HttpRequest) => Promise<T>;
  /** The same, with the response's ETag. */
  jsonWithTag: <T>(request: HttpRequest) => Promise<{ result: T; etag: string | undefined }>;
  /** The same for a response that is not JSON. */
  text: (request: HttpRequest) => Promise<string>;
};

/**
 * Returns the bearer token of a request; or the response to it, if the service issues none.
 * @throws CommandError if a repetition would fail too
 */
export type Authorize = () => Promise<string | ApiResponse>;

/** The service at a URL, for the holder of an API key or of other tokens. @throws UsageError if the URL would send them in the clear */
export function createHttpClient(
  baseUrl: string,
  credential: string | Authorize,
  retryDelayMs = RETRY_DELAY_MS,
): HttpClient {
  const url = parseBaseUrl(baseUrl);
  const authorize = typeof credential === "string" ? async () => credential : credential;
  const send: HttpClient["send"] = async ({ method, path, headers = {}, body }) => {
    const token = await authorize();
    if (typeof token !== "string") return token;
    return fetch(`${url}${path}`, {
      method,
      headers: { accept: "application/json", authorization: `Bearer ${token}`, ...headers },
      redirect: "error", // never shows the token to another server
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body !== undefined && { body }),
    });
  };
  return clientOf(url, send, retryDelayMs);
}

/** A client whose requests `send` sends. `url` names the service in messages. */
export function clientOf(url: string, send: HttpClient["send"], retryDelayMs = RETRY_DELAY_MS): HttpClient {
  const repeat = async (request: HttpRequest): Promise<Attempt> => {
    for (let attempt = 1; ; attempt += 1) {
      const made = await attemptText(() => send(request), url);
      const { error, retryAfterMs } = made;
      if (!error) return made;
      if (retryAfterMs === null || attempt >= MAX_ATTEMPTS) throw error;
      const waitMs = retryAfterMs || retryDelayMs * 2 ** (attempt - 1);
      if (waitMs >= 1_000) process.stderr.write(`Trying again in ${Math.ceil(waitMs / 1_000)} s: ${error.message}\n`);
      await delay(waitMs);
    }
  };
  const jsonWithTag: HttpClient["jsonWithTag"] = async (request) => {
    const { body, etag } = await repeat(request);
    try {
      return { result: body === "" ? null : JSON.parse(body), etag };
    } catch {
      throw new CommandError("invalid_response", `${url} did not respond with JSON. Is it the URL of the service?`);
    }
  };
  const json = async <T>(request: HttpRequest) => (await jsonWithTag<T>(request)).result;
  const text = async (request: HttpRequest) => (await repeat(request)).body;
  return { url, retryDelayMs, send, json, jsonWithTag, text };
}

/** The URL without a slash at its end. @throws UsageError if it would send a key in the clear */
export function parseBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isOwnMachine = url !== null && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isOwnMachine)) return url.href.replace(/\/+$/, "");
  throw new UsageError(
    "HOMEPORT_URL must be an https URL. http is for this machine alone, since requests contain the key.",
  );
}

/** `retryAfterMs` null: a repetition would fail too. 0: the server does not say when. */
type Attempt = { body: string; etag?: string | undefined; error?: CommandError; retryAfterMs: number | null };

async function attemptText(send: () => Promise<ApiResponse>, url: string): Promise<Attempt> {
  let response: ApiResponse;
  try {
    response = await send();
    if (response.ok) {
      const etag = response.headers.get("etag") ?? undefined;
      return { body: await response.text(), etag, retryAfterMs: null };
    }
  } catch (error) {
    if (error instanceof CommandError) return { body: "", error, retryAfterMs: null };
    const { name, message } = error as Error;
    const code = LASTING_ERRORS.get(name);
    if (code !== undefined) return { body: "", error: new CommandError(code, message), retryAfterMs: null };
    return { body: "", error: unreachable(url, error), retryAfterMs: 0 };
  }
  const error = await toError(response);
  const isRetried = RETRIED_STATUSES.has(response.status) || RETRIED_CODES.has(error.code);
  const seconds = Number(response.headers.get("retry-after") ?? 0) || 0;
  if (isRetried && seconds > MAX_RETRY_AFTER_SECONDS) {
    const message = `${error.message}. Try again in ${Math.ceil(seconds / 60)} minutes.`;
    return { body: "", error: new CommandError(error.code, message), retryAfterMs: null };
  }
  return { body: "", error, retryAfterMs: isRetried ? Math.min(seconds, 60) * 1000 : null };
}

type Problem = { code?: string; title?: string; detail?: string; errors?: { pointer: string; detail: string }[] };
type OAuthError = { error_description?: string; error_uri?: string };

/**
 * The error that a problem document describes (RFC 9457), with the fields that are invalid; or the one of the token endpoint
 * (RFC 6749, section 5.2), which has the code at the end of its URI.
 */
export async function toError(response: ApiResponse): Promise<CommandError> {
  const problem = (await response.json().catch(() => ({}))) as Problem & OAuthError;
  const {
    code = problem.error_uri?.split("#")[1] ?? `http_${response.status}`,
    title = problem.error_description ?? `The response status is ${response.status}`,
    errors = [],
  } = problem;
  const fields = errors.map(({ pointer, detail }) => `\n  - ${pointer}: ${detail}`).join("");
  return new CommandError(code, `${problem.detail ? `${title}: ${problem.detail}` : title}${fields}`);
}

/** The service did not respond, unless the request failed before. */
export function unreachable(url: string, error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  const { message, cause } = error as Error;
  const reason = cause instanceof Error ? cause.message : message;
  return new CommandError("unreachable", `${url} cannot be reached: ${reason}`);
}
