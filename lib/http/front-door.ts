import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { getRequestListener } from "@hono/node-server";
import type { RouteHandler } from "./route";

type RouteModule = { routeModule?: { ensureUserland?: () => Promise<void>; userland?: Record<string, RouteHandler> } };
type Direct = { pattern: RegExp; names: string[]; handlers: Record<string, RouteHandler> };
type Match = { handler: RouteHandler; params: Record<string, string | string[]> };

/**
 * Loads the compiled route handlers that `next build` left in `serverDir`, most specific first. A module that
 * is not as expected is left out, and Next answers for it.
 */
export async function loadDirectRoutes(serverDir: string): Promise<Direct[]> {
  const manifest = JSON.parse(await readFile(path.join(serverDir, "app-paths-manifest.json"), "utf8")) as Record<
    string,
    string
  >;
  const require = createRequire(path.resolve(serverDir, "app-paths-manifest.json"));
  const found: (Direct & { rank: string })[] = [];
  for (const [route, file] of Object.entries(manifest)) {
    if (!route.startsWith("/api/") || !route.endsWith("/route")) continue;
    const { routeModule } = (await require(`./${file}`)) as RouteModule;
    await routeModule?.ensureUserland?.();
    if (typeof routeModule?.userland?.GET === "function")
      found.push({ ...compile(route.slice(0, -"/route".length)), handlers: routeModule.userland });
  }
  return found.sort((a, b) => (a.rank < b.rank ? -1 : 1));
}

/** A listener that answers what it has a route for, and says whether it did. */
export function directListener(routes: Direct[]): (request: IncomingMessage, response: ServerResponse) => boolean {
  const matches = new WeakMap<IncomingMessage, Match>();
  const listener = getRequestListener(
    (request, env) => {
      const incoming = env.incoming as IncomingMessage;
      const { handler, params } = matches.get(incoming) as Match;
      return handler(request, { params: Promise.resolve(params), remoteAddress: incoming.socket.remoteAddress });
    },
    { overrideGlobalObjects: false },
  );
  return (request, response) => {
    const match = find(routes, request);
    if (!match) return false;
    matches.set(request, match);
    void listener(request, response);
    return true;
  };
}

function find(routes: Direct[], { url = "/", method = "GET" }: IncomingMessage): Match | null {
  const end = url.indexOf("?");
  const pathname = end < 0 ? url : url.slice(0, end);
  if (!pathname.startsWith("/api")) return null;
  for (const { pattern, names, handlers } of routes) {
    const match = pattern.exec(pathname);
    const handler = match && handlers[method];
    if (match && handler)
      return { handler, params: Object.fromEntries(names.map((name, i) => param(name, match[i + 1]))) };
  }
  return null;
}

function param(name: string, value = ""): [string, string | string[]] {
  return name.startsWith("...") ? [name.slice(3), value.split("/").filter(Boolean).map(decode)] : [name, decode(value)];
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** App Router's precedence: a fixed segment before `[one]` before `[...rest]` before `[[...rest]]`. */
function compile(route: string): { pattern: RegExp; names: string[]; rank: string } {
  const names: string[] = [];
  const ranks: string[] = [];
  const source = route
    .split("/")
    .slice(1)
    .map((segment) => {
      const [, optional, rest, name] = /^(\[)?\[(\.\.\.)?(\w+)\]\]?$/.exec(segment) ?? [];
      ranks.push(name === undefined ? `0${segment}` : rest === undefined ? "1" : optional === undefined ? "2" : "3");
      if (name === undefined) return `/${segment}`;
      names.push(`${rest ?? ""}${name}`);
      if (rest === undefined) return "/([^/]+)";
      return optional === undefined ? "/(.+)" : "(?:/(.*))?";
    });
  return { pattern: new RegExp(`^${source.join("")}$`), names, rank: ranks.join("/") };
}
