import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import { parseRetryAfter } from "../../outbound/retry-after";
import type { PushResponse } from "../push-transport";

/**
 * Sends one request on a connection to APNs, and returns the response, whatever its status.
 * @throws Error if there was no response; a time-out has the name TimeoutError
 */
export function sendRequest(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body: string,
  timeoutMs: number,
): Promise<PushResponse> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers);
    let hasResponse = false;
    const timer = setTimeout(() => {
      reject(timeoutError());
      stream.close(constants.NGHTTP2_CANCEL);
    }, timeoutMs);
    stream.once("response", (response) => {
      hasResponse = true;
      const { ":status": status = 0 } = response;
      if (status === 200) {
        resolve({ status, reason: null });
        stream.resume();
      } else readObject(stream, (object) => resolve(toResponse(response, object)));
    });
    stream.once("error", reject);
    stream.once("close", () => {
      clearTimeout(timer);
      if (!hasResponse || !stream.readableEnded) reject(new Error("the connection was closed")); // has no effect after a 200
    });
    stream.end(body);
  });
}

/** Reads the body of a response. */
function readObject(stream: ClientHttp2Stream, done: (object: ReturnType<typeof parseObject>) => void): void {
  let text = "";
  stream.on("data", (chunk: Buffer) => {
    text += chunk;
  });
  stream.once("end", () => done(parseObject(text)));
}

function toResponse(
  headers: IncomingHttpHeaders & { ":status"?: number },
  { reason, timestamp }: ReturnType<typeof parseObject>,
): PushResponse {
  const isReason = typeof reason === "string" && /^\w{1,64}$/.test(reason);
  const isTimestamp = typeof timestamp === "number" && Number.isSafeInteger(timestamp); // milliseconds since 1970
  const retryAfterSeconds = parseRetryAfter(headers["retry-after"]);
  return {
    status: headers[":status"] ?? 0,
    reason: isReason ? reason : null,
    ...(isTimestamp ? { timestamp: new Date(timestamp) } : {}),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

/** Whether APNs asks for a new provider token. */
export function isProviderTokenExpired({ status, reason }: PushResponse): boolean {
  return status === 403 && reason === "ExpiredProviderToken";
}

/** A proxy's error page is not JSON. */
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
