import { request as httpRequest, type IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import type { ApiResponse, HttpRequest } from "./http-client";

const TIMEOUT_MS = 300_000;

/**
 * Sends a request to a service on this machine. By node:http: to load what `fetch` needs takes as long as the rest of a short
 * command. Rejects if there is no response.
 */
export function sendOnThisMachine(url: string, { method, path, headers, body }: HttpRequest): Promise<ApiResponse> {
  return new Promise((resolve, reject) => {
    const options = { method, headers, signal: AbortSignal.timeout(TIMEOUT_MS) };
    const outgoing = httpRequest(`${url}${path}`, options, (incoming) => {
      buffer(incoming).then((bytes) => resolve(toResponse(incoming, bytes)), reject);
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

function toResponse({ statusCode: status = 0, headers }: IncomingMessage, bytes: Buffer): ApiResponse {
  return {
    status,
    ok: status >= 200 && status < 300,
    headers: { get: (name) => headers[name]?.toString() ?? null },
    body: null,
    text: async () => bytes.toString(),
    json: async () => JSON.parse(bytes.toString()),
  };
}
