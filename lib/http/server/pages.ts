import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import pLimit from "p-limit";
import { currentContext } from "../../context";
import { AppError } from "../../errors";
import { type RequestHead, requestId } from "../route-request";
import type { RouteResponse } from "../route-response";
import { type NextHandler, type RenderedPage, renderPage } from "./next-page";

/** A render takes some milliseconds of the event loop. More at once only make everything else wait longer. */
const MAX_RENDERS = 4;
const MAX_WAITING_RENDERS = 60;
/** Past this a render is given up, and another page may have its place. A query has ended long before. */
const MAX_RENDER_MS = 30_000;
/** Pages that say the same to everybody: rendered once. */
const STATIC_PATHS: ReadonlySet<string> = new Set(["/docs", "/docs/errors"]);
/** A path that Next has nothing for. What was asked for does not reach it. */
const NOT_FOUND_PATH = "/_not-found";
const MIN_GZIP_BYTES = 1024;

/** The route of requests for what is nowhere, in the log. */
export const UNMATCHED = "(unmatched)";

const compress = promisify(gzip);
/** On one of libuv's threads; the fastest of its levels makes a page a fifth of its size. */
const GZIP = { level: constants.Z_BEST_SPEED };
/** Whose headers a static page is rendered with: it may depend on no visitor. */
const ANONYMOUS = {
  head: { method: "GET", url: "/", headers: { get: () => null, has: () => false } },
  isAborted: () => false,
};

/**
 * A request for a page. `path` is the page's, null where there is none; `movedTo` is where it is instead; `isAborted`:
 * nobody waits for it any more.
 */
export type PageRequest = {
  path: string | null;
  search: string;
  movedTo?: string;
  head: RequestHead;
  isAborted: () => boolean;
};

/** A page between whose parts the nonce of an answer goes. */
type StaticPage = { nonce: string; headers: RenderedPage["headers"]; status: number; parts: string[] };

/**
 * Answers requests for pages: a few renders at a time, and a queue of bounded length. The promise rejects with
 * AppError overloaded where the queue is full, and with what Next throws.
 */
export function createPageResponder(
  next: NextHandler,
  maxRenderMs = MAX_RENDER_MS,
): (request: PageRequest) => Promise<RouteResponse> {
  const limit = pLimit(MAX_RENDERS);
  const kept = new Map<string, Promise<StaticPage>>();

  const render = async (url: string, id: string, { head, isAborted }: PageRequest): Promise<RenderedPage> => {
    if (limit.pendingCount >= MAX_WAITING_RENDERS) throw new AppError("overloaded");
    const host = new URL(currentContext().config.baseUrl).host;
    const page = await limit(() => {
      if (isAborted()) throw new AppError("overloaded");
      return within(maxRenderMs, renderPage(next, { url, host, requestId: id, headers: head.headers }));
    });
    const isPage = String(page.headers["content-type"]).startsWith("text/html");
    if (page.status >= 500 && !isPage) throw new Error(`Next answered ${page.status} for ${url}`);
    return page;
  };
  const renderOnce = (url: string, id: string): Promise<StaticPage> => {
    const page = kept.get(url) ?? render(url, id, { ...ANONYMOUS, path: url, search: "" }).then(toStatic);
    kept.set(url, page);
    page.catch(() => kept.delete(url));
    return page;
  };
  const find = async (request: PageRequest, id: string): Promise<RenderedPage> => {
    const { path, search, movedTo } = request;
    if (movedTo) return { status: 308, headers: { location: movedTo }, body: Buffer.alloc(0) };
    if (isRenderedPerRequest(request)) return render(path + search, id, request);
    return withNonce(await renderOnce(path ?? NOT_FOUND_PATH, id));
  };
  return async (request) => {
    const { path, head } = request;
    const startedMs = performance.now();
    const id = requestId(head);
    const page = await find(request, id);
    const answer = await toAnswer(page, id, head);
    const ms = performance.now() - startedMs;
    const record = { requestId: id, method: head.method, route: path ?? UNMATCHED, status: answer.status, ms };
    currentContext().observe(record, isRenderedPerRequest(request) ? null : head);
    return answer;
  };
}

/** What `work` gives. @throws Error where that takes longer than `ms` */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = delay(ms, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`Next took longer than ${ms} ms`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
  }
}

/** Whether Next renders the page for this very request. */
function isRenderedPerRequest({ path, movedTo }: PageRequest): boolean {
  return movedTo === undefined && path !== null && !STATIC_PATHS.has(path);
}

function toStatic({ status, headers, body }: RenderedPage): StaticPage {
  const nonce = /'nonce-([^']+)'/.exec(String(headers["content-security-policy"]))?.[1];
  if (status >= 500 || nonce === undefined) throw new Error(`A static page was rendered with status ${status}`);
  return { nonce, status, headers, parts: body.toString().split(nonce) };
}

/** The page with a nonce that nobody has seen before (Content Security Policy Level 3, 7.1). */
function withNonce({ nonce, status, headers, parts }: StaticPage): RenderedPage {
  const fresh = randomBytes(16).toString("base64");
  const policy = String(headers["content-security-policy"]).replaceAll(nonce, fresh);
  return { status, headers: { ...headers, "content-security-policy": policy }, body: Buffer.from(parts.join(fresh)) };
}

async function toAnswer(
  { status, headers, body }: RenderedPage,
  id: string,
  head: RequestHead,
): Promise<RouteResponse> {
  const isSmaller = body.byteLength >= MIN_GZIP_BYTES && acceptsGzip(head.headers.get("accept-encoding") ?? "");
  const sent = isSmaller ? await compress(body, GZIP) : body;
  const own = {
    ...(isSmaller ? { "content-encoding": "gzip" } : {}),
    vary: [headers.vary ?? [], "accept-encoding"].flat().join(", "),
    "content-length": String(sent.byteLength),
    "x-content-type-options": "nosniff",
    "x-request-id": id,
  };
  return { status, headers: { ...headers, ...own }, body: head.method === "HEAD" ? null : sent };
}

/** RFC 9110, 12.5.3. */
function acceptsGzip(accepted: string): boolean {
  return /(?:^|[,\s])gzip\s*(?:$|,|;\s*q=(?!0(?:\.0*)?\s*(?:$|,)))/i.test(accepted);
}
