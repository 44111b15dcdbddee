import { errorOf, HomeportError } from "./problem.js";
import { withRetries } from "./retries.js";
import { memoryStore, openSession, type Session, type SessionStore } from "./session.js";
import { type Wait, waitFor } from "./wait.js";

const TIMEOUT_SECONDS = 30;
const MAX_RETRIES = 2;

export type ClientOptions = {
  /** The service's URL, its `NEXTAUTH_URL`, such as `https://api.example.com`. */
  url: string;
  /** The app's id in `OAUTH_CLIENTS`. Sign-in through the browser needs it. */
  clientId?: string;
  /** Where the session's token is kept, by default in memory. "cookie": the browser keeps it, in a cookie. */
  session?: SessionStore | "cookie";
  /** Called when the service has ended the session: ask the user to sign in again. */
  onSignedOut?: () => void;
  /** For an environment with a `fetch` of its own, such as Tauri. */
  fetch?: typeof fetch;
  /** The maximum number of retries after a transient error. Default: 2. */
  maxRetries?: number;
  /** How long a response may take, in seconds. 30 by default. */
  timeoutSeconds?: number;
  /** Waits before a retry, by default with `setTimeout`. */
  wait?: Wait;
};

/** What the functions of this package take first. */
export type Client = {
  readonly url: string;
  readonly clientId: string | undefined;
  /** null: the browser keeps it, in a cookie. */
  readonly session: Session | null;
  readonly wait: Wait;
  /** @throws HomeportError unless the status is below 300 or expected */
  send(method: string, path: string, request?: RequestOptions): Promise<Response>;
};

export type RequestOptions = {
  headers?: Record<string, string>;
  /** Sent as JSON, or URL-encoded if it is URLSearchParams. */
  body?: unknown;
  /** Stops waiting for the response; the promise rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Replaces the client's. */
  timeoutSeconds?: number;
  /** Statuses, besides those below 300, that are not an error. */
  expected?: readonly number[];
};

/** The client of one service. Create one for the app; it holds no connection. */
export function createClient(options: ClientOptions): Client {
  const { clientId, wait = waitFor, onSignedOut = () => {} } = options;
  const session = options.session === "cookie" ? null : openSession(options.session ?? memoryStore(), onSignedOut);
  const url = options.url.replace(/\/$/, "");

  async function send(method: string, path: string, request: RequestOptions = {}): Promise<Response> {
    const token = (await session?.token()) ?? null;
    const init = { ...messageOf(method, request, token), credentials: session ? "omit" : "include" } as const;
    const timeoutMs = (request.timeoutSeconds ?? options.timeoutSeconds ?? TIMEOUT_SECONDS) * 1000;
    const attempt = () => fetchOnce(options.fetch ?? fetch, url + path, init, timeoutMs, request.signal);
    const response = await withRetries(attempt, {
      maxRetries: options.maxRetries ?? MAX_RETRIES,
      isRepeatable: !["POST", "PATCH"].includes(method) || init.headers.has("idempotency-key"),
      wait: (ms) => wait(ms, request.signal),
    });
    if (response.ok || request.expected?.includes(response.status)) return response;
    const error = await errorOf(response);
    if (error.code === "unauthenticated") {
      if (!session) onSignedOut();
      else if (token !== null) await session.end(token);
    }
    throw error;
  }

  return { url, clientId, session, wait, send };
}

type Message = { method: string; headers: Headers; body: BodyInit | undefined };

function messageOf(method: string, { headers: given, body }: RequestOptions, token: string | null): Message {
  const headers = new Headers({ accept: "application/json", ...given });
  if (token !== null) headers.set("authorization", `Bearer ${token}`);
  if (body === undefined || body instanceof URLSearchParams) return { method, headers, body };
  headers.set("content-type", "application/json");
  return { method, headers, body: JSON.stringify(body) };
}

/** One attempt. @throws HomeportError network_error if no response arrives in time */
async function fetchOnce(
  fetchFunction: typeof fetch,
  url: string,
  init: RequestInit,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Response> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    return await fetchFunction(url, { ...init, signal: signal ? AbortSignal.any([signal, timeout]) : timeout });
  } catch (cause) {
    signal?.throwIfAborted();
    throw new HomeportError("network_error", { detail: "The service cannot be reached", cause });
  }
}
