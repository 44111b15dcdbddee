import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { Writable } from "node:stream";
import type { RequestHead } from "../route-request";

export type NextHandler = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;

/** A page as Next has rendered it. Header names are in lower case. */
export type RenderedPage = { status: number; headers: Record<string, string | string[]>; body: Buffer };

/**
 * What pages read of a request. Next's own headers (`RSC`, `Next-*`, `X-Middleware-*`, `X-Forwarded-Host`) make it
 * answer something else than a page, call other hosts, or fail.
 */
const HEADERS = [
  ...["accept-language", "authorization", "cookie", "referer", "user-agent", "x-forwarded-for"],
  ...["traceparent", "tracestate"],
];
/** Said of the connection between Next and us, which is none. */
const HOP_BY_HOP = new Set(["connection", "keep-alive", "transfer-encoding"]);

/**
 * Has Next render the page of `url`, whole: its size is bounded, and a slow reader holds up no rendering. Always by
 * GET, so that HEAD gets the same headers. @throws what Next throws
 */
export async function renderPage(
  next: NextHandler,
  { url, host, requestId, headers }: { url: string; host: string; requestId: string; headers: RequestHead["headers"] },
): Promise<RenderedPage> {
  const request = new IncomingMessage(new Socket());
  request.method = "GET";
  request.url = url;
  request.httpVersionMajor = request.httpVersionMinor = 1;
  const given = HEADERS.map((name) => [name, headers.get(name)] as const).filter(([, value]) => value !== null);
  request.headers = { ...Object.fromEntries(given), host, "x-request-id": requestId };
  request.push(null);
  const response = new PageResponse(request);
  await next(request, response);
  return response.page();
}

/** Keeps what is written to it. Nothing is sent anywhere. */
class PageResponse extends ServerResponse {
  readonly #chunks: Buffer[] = [];

  constructor(request: IncomingMessage) {
    super(request);
    const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
    this.assignSocket(nowhere as Socket);
  }

  override write(chunk: string | Uint8Array, ...rest: unknown[]): boolean {
    this.#keep(chunk, rest);
    const callback = rest.find((one) => typeof one === "function");
    if (callback) process.nextTick(callback);
    return true; // there is always room
  }

  override end(...given: unknown[]): this {
    const [chunk, ...rest] = given;
    if (typeof chunk === "string" || chunk instanceof Uint8Array) this.#keep(chunk, rest);
    const callback = given.find((one) => typeof one === "function");
    return super.end(callback as (() => void) | undefined);
  }

  /** @throws Error where Next has ended without an answer */
  page(): RenderedPage {
    if (!this.writableEnded) throw new Error("Next did not answer");
    const headers = Object.entries(this.getHeaders()).filter(([name]) => !HOP_BY_HOP.has(name));
    return {
      status: this.statusCode,
      headers: Object.fromEntries(headers.map(([name, value]) => [name, Array.isArray(value) ? value : String(value)])),
      body: Buffer.concat(this.#chunks),
    };
  }

  #keep(chunk: string | Uint8Array, [encoding]: unknown[]): void {
    const isText = typeof chunk === "string";
    this.#chunks.push(isText ? Buffer.from(chunk, encoding as BufferEncoding | undefined) : Buffer.from(chunk));
  }
}
