import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { finished, pipeline } from "node:stream/promises";
import { decodePercent } from "../auth/cookie";
import type { Answer, IncomingRequest } from "./answer";
import type { RouteHandler, Segment } from "./route";

export type Handlers = Record<string, RouteHandler>;
type Pattern = { pattern: RegExp; names: string[]; handlers: Handlers };
type Found = { handlers: Handlers; params: Segment["params"] };
/** What is answered without Next: paths without parameters by name, the others by pattern, most specific first. */
export type DirectRoutes = { fixed: ReadonlyMap<string, Handlers>; patterns: readonly Pattern[] };

/** A download whose reader takes nothing for so long is given up. */
const STALLED_MS = 120_000;
/** For clients that send a byte a second. Connections kept for later outlast a proxy's. */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16 * 1024,
};

export type NextHandler = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;

/**
 * `isDraining`: each answer is the last on its connection. `onFault` hears of what could not be answered.
 * `stalledMs`: how long a download's reader may take nothing, two minutes unless it is said.
 */
export type DoorKeeper = { isDraining: () => boolean; onFault: (error: unknown) => void; stalledMs?: number };

/** The one HTTP server: direct routes are answered here, everything else by Next. */
export function createFrontDoor(routes: DirectRoutes, next: NextHandler, keeper: DoorKeeper): Server {
  const { isDraining, onFault, stalledMs = STALLED_MS } = keeper;
  return createServer(LIMITS, (incoming, outgoing) => {
    const fail = (error: unknown) => {
      onFault(error);
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(500).end();
    };
    const send = (answer: Answer) => {
      const unread = leavesBodyUnread(incoming);
      if (unread || isDraining()) outgoing.shouldKeepAlive = false;
      try {
        write(outgoing, answer, { upload: unread ? incoming : null, stalledMs });
      } catch (error) {
        fail(error); // a header that Node refuses
      }
    };
    const target = originForm(incoming.url ?? "/");
    if (!target.startsWith("/")) return send({ status: 400, headers: {}, body: null });
    const made = answerDirectly(routes, target, incoming) ?? refuseMethod(incoming);
    if (made instanceof Promise) return void made.then(send, fail);
    if (made) return send(made);
    if (isDraining()) outgoing.shouldKeepAlive = false;
    next(incoming, outgoing).catch(fail);
  });
}

/**
 * Loads the compiled route handlers that `next build` left in `serverDir`. A module that is not as expected is
 * left out, and Next answers for it.
 */
export async function loadDirectRoutes(serverDir: string): Promise<DirectRoutes> {
  const manifestFile = path.resolve(serverDir, "app-paths-manifest.json");
  const manifest = JSON.parse(await readFile(manifestFile, "utf8")) as Record<string, string>;
  const require = createRequire(manifestFile);
  const routes = new Map<string, Handlers>();
  for (const [name, file] of Object.entries(manifest)) {
    if (!name.endsWith("/route")) continue;
    const handlers = await loadHandlers(require, `./${file}`);
    if (handlers) routes.set(name.slice(0, -"/route".length), handlers);
  }
  return routeTable(routes);
}

/** Sorts routes, by their paths as the App Router writes them, for `findRoute`. */
export function routeTable(routes: ReadonlyMap<string, Handlers>): DirectRoutes {
  const fixed = new Map([...routes].filter(([route]) => !route.includes("[")));
  const patterns = [...routes]
    .filter(([route]) => !fixed.has(route))
    .map(([route, handlers]) => ({ ...compile(route), handlers }));
  return { fixed, patterns: patterns.sort((a, b) => (a.rank < b.rank ? -1 : 1)) };
}

/** Next 16: a compiled route's module exports `routeModule`, whose `userland` is the route file's exports. */
async function loadHandlers(require: NodeJS.Require, file: string): Promise<Handlers | null> {
  type Compiled = { routeModule?: { ensureUserland?: () => Promise<void>; userland?: Handlers } };
  const { routeModule } = (await require(file)) as Compiled;
  await routeModule?.ensureUserland?.();
  return typeof routeModule?.userland?.GET?.answer === "function" ? routeModule.userland : null;
}

/** A page has no other methods, and Next fails on some of them. */
function refuseMethod({ method = "" }: IncomingMessage): Answer | null {
  if (["GET", "HEAD", "POST"].includes(method)) return null;
  return { status: 405, headers: { Allow: "GET, HEAD, POST", "Content-Length": "0" }, body: null };
}

/** The answer to a request, or its promise; null where there is no direct route for it. */
function answerDirectly(routes: DirectRoutes, target: string, incoming: IncomingMessage) {
  const end = target.indexOf("?");
  const found = findRoute(routes, end < 0 ? target : target.slice(0, end));
  const answer = found?.handlers[incoming.method ?? ""]?.answer ?? found?.handlers.GET?.other;
  if (!found || !answer) return null;
  const segment = { params: found.params, remoteAddress: incoming.socket.remoteAddress };
  return answer(new NodeRequest(incoming, target), segment);
}

/** RFC 9112, 3.2: a proxy's absolute-form means its path and query. */
function originForm(target: string): string {
  if (target.startsWith("/") || !URL.canParse(target)) return target;
  const { pathname, search } = new URL(target);
  return pathname + search;
}

/** The route of a path, by the App Router's rules, and the parameters in it. */
export function findRoute({ fixed, patterns }: DirectRoutes, pathname: string): Found | null {
  const handlers = fixed.get(pathname);
  if (handlers) return { handlers, params: undefined };
  if (!pathname.startsWith("/api")) return null;
  for (const { pattern, names, handlers } of patterns) {
    const match = pattern.exec(pathname);
    if (match) return { handlers, params: Object.fromEntries(names.map((name, i) => param(name, match[i + 1]))) };
  }
  return null;
}

/** A node request as routes read it; nothing of it is copied. */
class NodeRequest implements IncomingRequest {
  readonly method: string;
  readonly url: string;
  readonly #incoming: IncomingMessage;

  constructor(incoming: IncomingMessage, url: string) {
    this.method = incoming.method ?? "GET";
    this.url = url;
    this.#incoming = incoming;
  }

  get headers(): IncomingRequest["headers"] {
    const { headers } = this.#incoming;
    return {
      get: (name) => headers[name]?.toString() ?? null,
      has: (name) => headers[name] !== undefined,
    };
  }

  get body(): AsyncIterable<Uint8Array> {
    // Whoever stops reading still has to be answered on the same socket.
    return this.#incoming.iterator({ destroyOnReturn: false });
  }
}

/** Who is written to: `upload` is what it still sends of its own. */
type Peer = { upload: IncomingMessage | null; stalledMs: number };

/** A close during an `upload` could cost its sender the answer (RFC 9112, 9.6): read on, within requestTimeout. */
function write(outgoing: ServerResponse, { status, headers, body }: Answer, { upload, stalledMs }: Peer): void {
  outgoing.writeHead(status, headers);
  if (body !== null && typeof body !== "string") return void stream(outgoing, body, stalledMs);
  if (!upload) return void outgoing.end(body);
  outgoing.write(body ?? "");
  const end = () => void outgoing.end();
  finished(upload.resume()).then(end, end);
}

/** An upload was refused before its end. A request without a body is complete only later. */
function leavesBodyUnread({ complete, headers }: IncomingMessage): boolean {
  return !complete && (headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0");
}

/** Sends bytes as fast as the reader takes them. A body that cannot be finished breaks the connection. */
async function stream(outgoing: ServerResponse, bytes: AsyncIterable<Uint8Array>, stalledMs: number): Promise<void> {
  // Behind another answer on its connection; until its turn comes nothing tells whether the client is still there.
  if (!outgoing.socket) return void outgoing.once("socket", () => void stream(outgoing, bytes, stalledMs));
  outgoing.setTimeout(stalledMs, () => outgoing.destroy());
  try {
    await pipeline(bytes, outgoing);
  } catch {
    outgoing.destroy(); // gone, stalled, or the file's fault, which its reader has logged
  }
}

function param(name: string, value = ""): [string, string | string[]] {
  return name.startsWith("...")
    ? [name.slice(3), value.split("/").filter(Boolean).map(decodePercent)]
    : [name, decodePercent(value)];
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
