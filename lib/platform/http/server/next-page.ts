import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { RequestHead } from "../../http-message";
import { SOCKET_IP_HEADER } from "../pages/page-headers";

export type NextHandler = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;
/** Loads Next at the first call, and resolves when it is loaded. It is called for each page and file. */
export type LoadNext = () => Promise<NextHandler>;

/** A page as Next has rendered it. Header names are in lower case. */
export type RenderedPage = { status: number; headers: Record<string, string | string[]>; body: Buffer };

type PageInput = {
  url: string;
  host: string;
  requestId: string;
  headers: RequestHead["headers"];
  socketIp: string | undefined;
};

/**
 * The request headers that pages read. With Next's own (`RSC`, `Next-*`, `X-Middleware-*`, `X-Forwarded-Host`) it would
 * respond with something other than a page, send requests to other hosts, or fail.
 */
const PAGE_HEADERS = [
  "accept-language",
  "authorization",
  "cookie",
  "referer",
  "sec-ch-ua-arch",
  "user-agent",
  "x-forwarded-for",
  "traceparent",
  "tracestate",
];
/** Response headers that describe a connection. There is none between Next and the server. */
const HOP_BY_HOP_HEADERS = new Set(["connection", "keep-alive", "transfer-encoding"]);

/** The result of `work`. @throws the error that `onTimeout` makes, after `ms` */
export async function withTimeout<T>(ms: number, work: Promise<T>, onTimeout: () => Error): Promise<T> {
  const timer = new AbortController();
  const timeout = delay(ms, undefined, { signal: timer.signal }).then(() => {
    throw onTimeout();
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    timer.abort();
  }
}

/**
 * Renders the page of `url` into memory: the size of a page is bounded, and a slow reader does not delay the next
 * render. The method is GET always, so that HEAD gets the same headers. @throws whatever Next throws
 */
export async function renderPage(
  next: NextHandler,
  { url, host, requestId, headers, socketIp }: PageInput,
): Promise<RenderedPage> {
  const request = new IncomingMessage(new Socket());
  request.method = "GET";
  request.url = url;
  request.httpVersionMajor = request.httpVersionMinor = 1;
  const given = PAGE_HEADERS.map((name) => [name, headers.get(name)] as const).filter(([, value]) => value !== null);
  const own = { host, "x-request-id": requestId, ...(socketIp === undefined ? {} : { [SOCKET_IP_HEADER]: socketIp }) };
  request.headers = { ...Object.fromEntries(given), ...own };
  request.push(null);
  const response = new BufferedResponse(request);
  await next(request, response);
  return response.page();
}

class BufferedResponse extends ServerResponse {
  readonly #chunks: Buffer[] = [];

  constructor(request: IncomingMessage) {
    super(request);
    const discard = new Writable({ write: (_chunk, _encoding, done) => done() });
    this.assignSocket(discard as Socket);
  }

  override write(chunk: string | Uint8Array, ...rest: unknown[]): boolean {
    this.#collect(chunk, rest);
    const callback = rest.find((one) => typeof one === "function");
    if (callback) process.nextTick(callback);
    return true; // never ask the writer to wait
  }

  override end(...given: unknown[]): this {
    const [chunk, ...rest] = given;
    if (typeof chunk === "string" || chunk instanceof Uint8Array) this.#collect(chunk, rest);
    const callback = given.find((one) => typeof one === "function");
    return super.end(callback as (() => void) | undefined);
  }

  /** @throws Error if Next did not end the response */
  page(): RenderedPage {
    if (!this.writableEnded) throw new Error("Next did not respond");
    const headers = Object.entries(this.getHeaders()).filter(([name]) => !HOP_BY_HOP_HEADERS.has(name));
    return {
      status: this.statusCode,
      headers: Object.fromEntries(headers.map(([name, value]) => [name, Array.isArray(value) ? value : String(value)])),
      body: Buffer.concat(this.#chunks),
    };
  }

  #collect(chunk: string | Uint8Array, [encoding]: unknown[]): void {
    const isText = typeof chunk === "string";
    this.#chunks.push(isText ? Buffer.from(chunk, encoding as BufferEncoding | undefined) : Buffer.from(chunk));
  }
}
