import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import pLimit from "p-limit";
import { currentContext } from "../../../context";
import { AppError } from "../../../errors";
import { type RequestHead, type RouteResponse, requestId } from "../../http-message";
import { LOCALES, type Locale, preferredLocale } from "../../locale";
import { securityHeaders } from "../security-headers";
import { type LoadNext, type RenderedPage, renderPage, withTimeout } from "./next-page";
import type { RouteMatch } from "./routes";

/** A render takes milliseconds of the event loop: more at once delay every other request. */
const MAX_RENDERS = 4;
const MAX_QUEUED_RENDERS = 60;
/** Next's not-found page, rendered once in each language. The requested path never reaches Next. */
const NOT_FOUND_PATH = "/_not-found";
const MIN_GZIP_BYTES = 1024;

/** The route of unmatched requests in logs and metrics. */
export const UNMATCHED = "(unmatched)";

const compress = promisify(gzip);
/** Compressed in libuv's thread pool. The fastest level reduces a page to a fifth. */
const GZIP_OPTIONS = { level: constants.Z_BEST_SPEED };
/** Static pages are rendered without the headers of any visitor, but for the language. */
const anonymousIn = (locale: Locale) => ({
  head: {
    method: "GET",
    url: "/",
    headers: {
      get: (name: string) => (name === "accept-language" ? locale : null),
      has: (name: string) => name === "accept-language",
    },
  },
  isAborted: () => false,
});

export type PageRequest = {
  /** The page, with a route such as `/console/accounts/[accountId]`; null: there is none. */
  match: RouteMatch | null;
  pathname: string;
  search: string;
  /** The URL to redirect to. */
  movedTo?: string;
  head: RequestHead;
  socketIp?: string | undefined;
  isAborted: () => boolean;
};

/** A page that is cut at each occurrence of its nonce. */
type StaticPage = { nonce: string; headers: RenderedPage["headers"]; status: number; parts: string[] };

/**
 * Responds to requests for pages, with a bounded number of renders and a bounded queue. The promise rejects with
 * AppError overloaded if the queue is full, and with whatever Next throws.
 */
export function createPageResponder(
  loadNext: LoadNext,
  maxRenderMs: number,
): (request: PageRequest) => Promise<RouteResponse> {
  const limit = pLimit(MAX_RENDERS);
  const staticPages = new Map<string, Promise<StaticPage>>();

  type Visitor = Pick<PageRequest, "head" | "socketIp" | "isAborted">;
  const render = async (url: string, id: string, { head, socketIp, isAborted }: Visitor) => {
    if (limit.pendingCount >= MAX_QUEUED_RENDERS) throw new AppError("overloaded");
    const host = new URL(currentContext().config.baseUrl).host;
    const page = await limit(async () => {
      const next = await loadNext();
      if (isAborted()) throw new AppError("overloaded");
      const rendering = renderPage(next, { url, host, requestId: id, headers: head.headers, socketIp });
      return withTimeout(maxRenderMs, rendering, () => new Error(`Next took longer than ${maxRenderMs} ms`));
    });
    const isPage = String(page.headers["content-type"]).startsWith("text/html");
    if (page.status >= 500 && !isPage) throw new Error(`Next responded with ${page.status} for ${url}`);
    return page;
  };
  const renderOnce = (url: string, id: string, locale: Locale = LOCALES[0]): Promise<StaticPage> => {
    const key = `${locale} ${url}`;
    const page = staticPages.get(key) ?? render(url, id, anonymousIn(locale)).then(toStatic);
    staticPages.set(key, page);
    const forget = () => staticPages.delete(key);
    page.then(({ status }) => status === 404 && url !== NOT_FOUND_PATH && forget(), forget);
    return page;
  };
  const renderNotFound = async (id: string, { head }: PageRequest): Promise<RenderedPage> => {
    const locale = preferredLocale(head.headers.get("accept-language")) ?? LOCALES[0];
    return withNonce(await renderOnce(NOT_FOUND_PATH, id, locale));
  };
  const findPage = async (request: PageRequest, id: string): Promise<RenderedPage> => {
    const { match, pathname, search, movedTo } = request;
    if (movedTo) {
      const headers = { location: movedTo, ...securityHeaders(currentContext().config) };
      return { status: 308, headers, body: Buffer.alloc(0) };
    }
    if (match === null) return renderNotFound(id, request);
    const page =
      match.responder === "static page"
        ? withNonce(await renderOnce(await canonicalPath(match), id))
        : await render(pathname + search, id, request);
    // If a page is not found for this visitor, Next sends a shell that needs scripts and has the page's title.
    return page.status === 404 ? renderNotFound(id, request) : page;
  };
  return async (request) => {
    const { match, head } = request;
    const startedMs = performance.now();
    const id = requestId(head);
    const page = await findPage(request, id);
    const response = await toResponse(page, id, head);
    const ms = performance.now() - startedMs;
    const record = { requestId: id, method: head.method, route: match?.path ?? UNMATCHED, status: response.status, ms };
    currentContext().observe(record, match?.responder === "page" ? null : head);
    return response;
  };
}

/** The path of a page, written in one way: a client can write its parameters in many. */
async function canonicalPath({ path, params }: RouteMatch): Promise<string> {
  const given = await params;
  return path.replace(/\[(\w+)\]/g, (_, name: string) => encodeURIComponent(String(given?.[name])));
}

function toStatic({ status, headers, body }: RenderedPage): StaticPage {
  const nonce = /'nonce-([^']+)'/.exec(String(headers["content-security-policy"]))?.[1];
  if (status >= 500 || nonce === undefined) throw new Error(`A static page was rendered with status ${status}`);
  return { nonce, status, headers, parts: body.toString().split(nonce) };
}

/** The page with a new nonce (Content Security Policy Level 3, 7.1). */
function withNonce({ nonce, status, headers, parts }: StaticPage): RenderedPage {
  const fresh = randomBytes(16).toString("base64");
  const policy = String(headers["content-security-policy"]).replaceAll(nonce, fresh);
  return { status, headers: { ...headers, "content-security-policy": policy }, body: Buffer.from(parts.join(fresh)) };
}

async function toResponse({ status, headers, body }: RenderedPage, id: string, head: RequestHead) {
  const isCompressed = body.byteLength >= MIN_GZIP_BYTES && acceptsGzip(head.headers.get("accept-encoding") ?? "");
  const sent = isCompressed ? await compress(body, GZIP_OPTIONS) : body;
  const own = {
    ...(isCompressed ? { "content-encoding": "gzip" } : {}),
    vary: [headers.vary ?? [], "accept-encoding"].flat().join(", "),
    "content-length": String(sent.byteLength),
    "x-request-id": id,
  };
  return { status, headers: { ...headers, ...own }, body: head.method === "HEAD" ? null : sent };
}

/** RFC 9110, 12.5.3. */
function acceptsGzip(accepted: string): boolean {
  return /(?:^|[,\s])gzip\s*(?:$|,|;\s*q=(?!0(?:\.0*)?\s*(?:$|,)))/i.test(accepted);
}
