import { EventEmitter } from "node:events";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { Readable } from "node:stream";

// biome-ignore lint/suspicious/noExplicitAny: functions of node:http are replaced
type Any = any;

export type OutgoingRequest = { url: URL; method: string; headers: Record<string, string>; body: Buffer };
export type OutgoingResponse = { status: number; headers?: Record<string, string>; body?: string };

/** Every host of the internet: what the service sends over HTTP and HTTPS comes here. */
export function installNetwork(respond: (request: OutgoingRequest) => Promise<OutgoingResponse>): void {
  const require = createRequire(import.meta.url);
  require("node:dns/promises").lookup = async () => [{ address: "93.184.215.14", family: 4 }];
  const request = (target: URL | string, { method = "GET", headers = {}, signal, timeout }: Any = {}) => {
    const url = new URL(target);
    const outgoing = new EventEmitter() as Any;
    let written: Buffer | string = "";
    const fail = (error: Error) => {
      outgoing.emit("error", error);
      outgoing.emit("close");
    };
    signal?.addEventListener("abort", () => fail(signal.reason), { once: true });
    outgoing.setHeader = outgoing.removeHeader = () => outgoing;
    outgoing.write = (body: Buffer | string) => {
      written = body;
    };
    outgoing.end = (body: Buffer | string = written) => {
      const timer = timeout ? setTimeout(() => outgoing.emit("timeout"), timeout) : undefined;
      const answered = respond({ url, method, headers, body: Buffer.from(body) });
      answered
        .finally(() => clearTimeout(timer))
        .then(({ status, headers: given = {}, body: text = "" }) => {
          const response = Readable.from(text ? [Buffer.from(text)] : []) as Any;
          Object.assign(response, { statusCode: status, headers: given });
          outgoing.emit("response", response);
        }, fail);
      return outgoing;
    };
    outgoing.destroy = () => outgoing;
    return outgoing;
  };
  globalThis.fetch = async (input, { method = "GET", headers, body, signal } = {}) => {
    const aborted = new Promise<never>((_, reject) =>
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true }),
    );
    const sent = { url: new URL(String(input)), method, headers: Object.fromEntries(new Headers(headers)) };
    const answered = respond({ ...sent, body: Buffer.from(body ? String(body) : "") });
    const { status, headers: given, body: text } = await Promise.race([answered, aborted]);
    return new Response(text || null, { status, headers: given });
  };
  require("node:http").request = request;
  require("node:https").request = request;
  syncBuiltinESMExports();
}
