import { buffer } from "node:stream/consumers";
import { isStreamed, type RouteRequest, type RouteResponse } from "../../../lib/platform/http-message";
import type { ApiResponse, HttpRequest } from "./http-client";

/** A request as route handlers read it, without the classes of `fetch`, which take long to load. */
export function toRouteRequest({ method, path, headers = {}, body }: HttpRequest): RouteRequest {
  const byName = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  return {
    method,
    url: path,
    headers: { get: (name) => byName.get(name.toLowerCase()) ?? null, has: (name) => byName.has(name.toLowerCase()) },
    body:
      bytes === undefined
        ? null
        : (async function* () {
            yield bytes;
          })(),
  };
}

/** The response of a route handler, read whole. */
export async function toApiResponse({ status, headers, body }: RouteResponse): Promise<ApiResponse> {
  const bytes = isStreamed(body) ? await buffer(body) : Buffer.from(body ?? "");
  const byName = new Map(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value].flat().join(", ")]),
  );
  return {
    status,
    ok: status >= 200 && status < 300,
    headers: { get: (name) => byName.get(name.toLowerCase()) ?? null },
    body: null,
    text: async () => bytes.toString(),
    json: async () => JSON.parse(bytes.toString()),
  };
}
