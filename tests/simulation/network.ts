import { createRequire, syncBuiltinESMExports } from "node:module";
import { Readable, Writable } from "node:stream";

// biome-ignore lint/suspicious/noExplicitAny: functions of node:http are replaced
type Any = any;

export type OutgoingRequest = { url: URL; method: string; headers: Record<string, string>; body: Buffer<ArrayBuffer> };
export type OutgoingResponse = {
  status: number;
  headers?: Record<string, string>;
  body?: string | Buffer<ArrayBuffer>;
};

/** Every host of the internet: what the service sends over HTTP and HTTPS comes here. */
export function installNetwork(respond: (request: OutgoingRequest) => Promise<OutgoingResponse>): void {
  const require = createRequire(import.meta.url);
  require("node:dns/promises").lookup = async () => [{ address: "93.184.215.14", family: 4 }];
  const request = (target: URL | string, { method = "GET", headers = {}, signal, timeout }: Any = {}) => {
    const url = new URL(target);
    const written: Buffer[] = [];
    let timer: NodeJS.Timeout | undefined;
    const send = () => {
      if (timeout) outgoing.setTimeout(timeout, () => {});
      const answered = respond({ url, method, headers, body: Buffer.concat(written) });
      answered
        .finally(() => clearTimeout(timer))
        .then(({ status, headers: given = {}, body = "" }) => {
          const response = Readable.from(body.length > 0 ? [Buffer.from(body)] : []) as Any;
          Object.assign(response, { statusCode: status, headers: given });
          outgoing.emit("response", response);
        }, fail);
    };
    const outgoing = new Writable({
      autoDestroy: false,
      write: (chunk, _, done) => {
        written.push(chunk);
        done();
      },
      final: (done) => {
        send();
        done();
      },
    }) as Any;
    let isOver = false;
    const fail = (error: Error) => {
      if (isOver) return;
      isOver = true;
      outgoing.emit("error", error);
      outgoing.emit("close");
    };
    signal?.addEventListener("abort", () => fail(signal.reason), { once: true });
    outgoing.setHeader = outgoing.removeHeader = () => outgoing;
    outgoing.setTimeout = (ms: number, run: () => void) => {
      timer = setTimeout(() => outgoing.emit("timeout"), ms);
      outgoing.on("timeout", run);
    };
    outgoing.destroy = (error?: Error) => {
      clearTimeout(timer);
      if (error) fail(error);
      isOver = true;
      return outgoing;
    };
    if (headers.expect === "100-continue") queueMicrotask(() => outgoing.emit("continue"));
    return outgoing;
  };
  globalThis.fetch = async (input, init = {}) => {
    const given = input instanceof Request ? input : { ...init, url: String(input) };
    const { method = "GET", signal } = given;
    const body = given instanceof Request ? await given.arrayBuffer() : String(given.body ?? "");
    const aborted = new Promise<never>((_, reject) =>
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true }),
    );
    const sent = { url: new URL(given.url), method, headers: Object.fromEntries(new Headers(given.headers)) };
    waiting.add(given);
    const answered = respond({ ...sent, body: Buffer.from(body as string) });
    const {
      status,
      headers,
      body: bytes,
    } = await Promise.race([answered, aborted]).finally(() => waiting.delete(given));
    return new Response(bytes?.length ? bytes : null, { status, headers });
  };
  require("node:http").request = request;
  require("node:https").request = request;
  syncBuiltinESMExports();
}

/** The signal of a request is aborted only as long as something refers to the request. */
const waiting = new Set<unknown>();
