import type { RouteHandler } from "@/lib/http/route";
import { BASE_URL } from "./context";

type Options = {
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is. */
  body?: BodyInit;
  token?: string;
  cookie?: string;
  headers?: Record<string, string>;
  /** The socket's address. */
  address?: string;
};

type RouteModule = Record<string, RouteHandler>;
const modules = import.meta.glob<RouteModule>("/app/api/**/route.ts");
const routes = Object.entries(modules)
  .map(([file, load]) => ({ ...compile(file), load }))
  .sort((a, b) => a.rank - b.rank);

let nextAddress = 0;

/** Calls a route as its handler sees it. Each call comes from an address of its own unless one is given. */
export async function call(method: string, path: string, options: Options = {}): Promise<Response> {
  const url = new URL(path, BASE_URL);
  const headers = new Headers(options.headers);
  if (options.json !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
  if (options.token) headers.set("authorization", `Bearer ${options.token}`);
  if (options.cookie) headers.set("cookie", options.cookie);
  const body = options.json === undefined ? options.body : JSON.stringify(options.json);
  const request = new Request(url, { method, headers, body, duplex: "half" } as RequestInit);
  for (const route of routes) {
    const match = route.pattern.exec(url.pathname);
    if (!match) continue;
    const handler = (await route.load())[method] as RouteHandler;
    nextAddress += 1;
    const remoteAddress =
      options.address ?? `10.${(nextAddress >> 16) & 255}.${(nextAddress >> 8) & 255}.${nextAddress & 255}`;
    return handler(request, { params: Promise.resolve(route.params(match)), remoteAddress });
  }
  throw new Error(`No route for ${url.pathname}`);
}

export const get = (path: string, options?: Options) => call("GET", path, options);
export const post = (path: string, json?: unknown, options?: Options) => call("POST", path, { json, ...options });

/** App Router's rules: fixed segments before `[one]` before `[...rest]`. */
function compile(file: string) {
  const segments = file
    .replace(/^\/app|\/route\.ts$/g, "")
    .split("/")
    .slice(1);
  const names: string[] = [];
  let rank = 0;
  const source = segments.map((segment) => {
    const rest = /^\[?\[\.\.\.(\w+)\]\]?$/.exec(segment)?.[1];
    const one = /^\[(\w+)\]$/.exec(segment)?.[1];
    rank = rank * 3 + (rest ? 2 : one ? 1 : 0);
    if (rest) names.push(`...${rest}`);
    if (one) names.push(one);
    return rest ? "(?:/(.+))?" : one ? "/([^/]+)" : `/${segment}`;
  });
  return {
    rank: rank * 3 ** (8 - segments.length),
    pattern: new RegExp(`^${source.join("")}$`),
    params: (match: RegExpExecArray) =>
      Object.fromEntries(
        names.map((name, i) => {
          const value = match[i + 1] ?? "";
          return name.startsWith("...")
            ? [name.slice(3), value.split("/").map(decodeURIComponent)]
            : [name, decodeURIComponent(value)];
        }),
      ),
  };
}
