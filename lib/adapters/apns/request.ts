import { type ClientHttp2Session, constants, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http2";
import { parseRetryAfter } from "../../outbound/retry-after";
import type { ApnsResponse } from "../push-transport";

/**
 * Sends one request on a connection to APNs, and returns the response, whatever its status.
 * @throws Error if there was no response; a time-out has the name TimeoutError
 */
export function sendRequest(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body: string,
  timeoutMs: number,
): Promise<ApnsResponse> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers);
    let hasResponse = false;
    const timer = setTimeout(() => {
      reject(timeoutError());
      stream.close(constants.NGHTTP2_CANCEL);
    }, timeoutMs);
    stream.once("response", ({ ":status": status = 0, "retry-after": retryAfter }) => {
      hasResponse = true;
      if (status === 200) {
        resolve({ status, reason: null });
        stream.resume();
        return;
      }
      let text = "";
      stream.on("data", (chunk: Buffer) => {
        text += chunk;
      });
      stream.once("end", () => resolve(toResponse(status, text, retryAfter)));
    });
    stream.once("error", reject);
    stream.once("close", () => {
      clearTimeout(timer);
      if (!hasResponse || !stream.readableEnded) reject(new Error("the connection was closed")); // has no effect after a 200
    });
    stream.end(body);
  });
}

/** A response with its headers and its body, which is an object in JSON, or empty. */
export type Exchanged = { status: number; headers: IncomingHttpHeaders; body: Record<string, unknown> };

/**
 * Sends one request on a connection to APNs, and returns the whole response.
 * @throws Error if there was no response; a time-out has the name TimeoutError
 */
export function exchange(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body: string,
  timeoutMs: number,
): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers);
    let response: IncomingHttpHeaders & { ":status"?: number } = {};
    let text = "";
    const timer = setTimeout(() => {
      reject(timeoutError());
      stream.close(constants.NGHTTP2_CANCEL);
    }, timeoutMs);
    stream.once("response", (given) => {
      response = given;
    });
    stream.on("data", (chunk: Buffer) => {
      text += chunk;
    });
    stream.once("end", () => {
      const { ":status": status, ...others } = response;
      if (status !== undefined) resolve({ status, headers: others, body: { ...parseObject(text) } });
    });
    stream.once("error", reject);
    stream.once("close", () => {
      clearTimeout(timer);
      reject(new Error("the connection was closed")); // has no effect after a response
    });
    stream.end(body === "" ? undefined : body); // Node.js has ended a GET already
  });
}

function toResponse(status: number, text: string, retryAfter: string | undefined): ApnsResponse {
  const { reason, timestamp } = parseObject(text);
  const isReason = typeof reason === "string" && /^\w{1,64}$/.test(reason);
  const isTimestamp = typeof timestamp === "number" && Number.isSafeInteger(timestamp); // milliseconds since 1970
  const retryAfterSeconds = parseRetryAfter(retryAfter);
  return {
    status,
    reason: isReason ? reason : null,
    ...(isTimestamp ? { timestamp: new Date(timestamp) } : {}),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

/** A proxy's error page is no JSON. */
function parseObject(text: string): { reason?: unknown; timestamp?: unknown } {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

function timeoutError(): Error {
  return Object.assign(new Error("APNs did not respond in time"), { name: "TimeoutError" });
}
