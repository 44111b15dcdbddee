import { createRouteTable, findRoute, type Handlers } from "@/lib/platform/http/server/routes";
import { BASE_URL } from "./context";
import { assertDescribed } from "./contract";
import { callsHandlers, sendToServer } from "./server";

export type Options = {
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is. */
  body?: BodyInit;
  token?: string;
  cookie?: string;
  headers?: Record<string, string>;
  /** The socket's remote IP. */
  ip?: string;
  /** Aborted once the client is gone. */
  signal?: AbortSignal;
};

// Without a type argument: Vitest must see the call as it is, to compile this file anew when a route is added.
const modules = import.meta.glob(["/app/**/route.ts", "/app/.well-known/**/route.ts"], { eager: true }) as Record<
  string,
  Handlers
>;
const routes = createRouteTable(new Map(Object.entries(modules).map(([file, handlers]) => [routeOf(file), handlers])));

/**
 * Calls a route, by its handler or through TEST_SERVER, and checks the response against public/openapi.json.
 * Each call has a client IP of its own unless one is given.
 */
export async function call(method: string, path: string, options: Options = {}): Promise<Response> {
  const url = new URL(path, BASE_URL);
  const response = await send(method, url, options);
  await assertDescribed(method, url.pathname, response);
  return response;
}

async function send(method: string, url: URL, options: Options): Promise<Response> {
  const headers = new Headers(options.headers);
  if (options.json !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
  if (options.token) headers.set("authorization", `Bearer ${options.token}`);
  if (options.cookie) headers.set("cookie", options.cookie);
  const body = options.json === undefined ? options.body : JSON.stringify(options.json);
  const ip = options.ip ?? newIp();
  // A server always sees the same socket, so the client's IP comes the way it does behind a proxy.
  if (!callsHandlers && !headers.has("x-forwarded-for")) headers.set("x-forwarded-for", ip);
  const { signal } = options;
  const request = new Request(url, { method, headers, body, duplex: "half", signal } as RequestInit);
  if (!callsHandlers) return sendToServer(request);
  const found = findRoute(routes, url.pathname);
  const handler = typeof found?.responder === "object" ? found.responder[method] : undefined;
  if (!found || !handler) throw new Error(`No route for ${method} ${url.pathname}`);
  return handler(request, { params: Promise.resolve(found.params ?? {}), socketIp: ip });
}

let ips = 0;

function newIp(): string {
  ips += 1;
  return `10.${(ips >> 16) & 255}.${(ips >> 8) & 255}.${ips & 255}`;
}

function routeOf(file: string): string {
  return file.replace(/^\/app|\/route\.ts$/g, "");
}

export const get = (path: string, options?: Options) => call("GET", path, options);
export const post = (path: string, json?: unknown, options?: Options) => call("POST", path, { json, ...options });

/** The status and the JSON body of a response. */
export const answerOf = async (response: Response) => ({ status: response.status, body: await response.json() });
