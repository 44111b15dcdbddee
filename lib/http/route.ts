import { randomUUID } from "node:crypto";
import type { z } from "zod";
import { authenticate, type Principal } from "../auth/authenticate";
import { type Context, currentContext } from "../context";
import { AppError } from "../errors";
import { clientAddress } from "./client-address";
import { parseBody, parseJson, parseQuery, readBody, requireJson } from "./input";
import { corsHeaders, requireOwnOrigin } from "./origin";
import { problemResponse, toAppError } from "./problem";
import type { LimitName } from "./rate-limits";
import { isReply, type Reply } from "./reply";

const BODY_LIMIT_BYTES = 16 * 1024;
const VERBS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;
type Verb = (typeof VERBS)[number];

/** What Next passes beside the request, and the socket's address where the front door knows it. */
type Segment = { params?: Promise<Record<string, string | string[] | undefined>>; remoteAddress?: string };
export type RouteHandler = (request: Request, segment: Segment) => Promise<Response>;

/** What a handler gets. `raw` is the body as it came. */
type Input<Params, Query, Body, Account> = {
  ctx: Context;
  request: Request;
  params: Params;
  query: Query;
  body: Body;
  raw: Uint8Array;
  /** The caller's session and account; null on public routes. */
  account: Account;
  /** For limits: the caller's address, IPv6 cut to /64. */
  address: string;
  log: Context["log"];
};

/** The same for a public route whose handler stands apart from its declaration. */
export type PublicInput<Params = unknown> = Input<Params, unknown, unknown, null>;

export type Endpoint<Params = unknown, Query = unknown, Body = unknown, Auth extends "account" | "none" = "none"> = {
  summary: string;
  /** "account": needs a session, by bearer token or cookie. */
  auth?: Auth;
  /** false: answers while the database is down. */
  database?: false;
  params?: z.ZodType<Params>;
  query?: z.ZodObject & z.ZodType<Query>;
  /** A JSON body; "raw" leaves reading it to the handler. */
  body?: z.ZodType<Body> | "raw";
  bodyLimitBytes?: number;
  /** Counted by account where there is one, else by address. */
  limit?: LimitName;
  /** The schema of each success body; null for an empty or streamed one. The first is the default status. */
  responses: Record<number, z.ZodType | null>;
  handle: (input: Input<Params, Query, Body, Auth extends "account" ? Principal : null>) => Promise<unknown> | unknown;
};

/** An endpoint of any types: `endpoint` has held its parts against each other. */
type AnyEndpoint = Omit<Endpoint, "params" | "query" | "body" | "auth" | "handle"> & {
  auth?: "account" | "none";
  params?: z.ZodType;
  query?: z.ZodObject;
  body?: z.ZodType | "raw";
  // biome-ignore lint/suspicious/noExplicitAny: the input is made from the very schemas that typed it.
  handle: (input: Input<any, any, any, any>) => unknown;
};

/** Checks one method's declaration against itself; does nothing at run time. */
export function endpoint<Params, Query, Body, Auth extends "account" | "none" = "none">(
  declaration: Endpoint<Params, Query, Body, Auth>,
): AnyEndpoint {
  return declaration;
}

/**
 * Turns declarations into App Router route handlers, one a method: undeclared methods answer 405, HEAD
 * follows GET, OPTIONS tells what is allowed, every error is a problem document.
 */
export function defineRoute(path: string, endpoints: Partial<Record<Verb, AnyEndpoint>>): Record<Verb, RouteHandler> {
  const declared = { ...endpoints, ...(endpoints.GET && !endpoints.HEAD ? { HEAD: endpoints.GET } : {}) };
  const allow = VERBS.filter((verb) => verb === "OPTIONS" || declared[verb]).join(", ");
  return Object.fromEntries(VERBS.map((verb) => [verb, handler(verb, declared[verb], allow)])) as Record<
    Verb,
    RouteHandler
  >;
}

function handler(verb: Verb, declaration: AnyEndpoint | undefined, allow: string): RouteHandler {
  return async (request, segment) => {
    const ctx = currentContext();
    const id = requestId(request);
    const answer = await respond(ctx, verb, declaration, allow, request, segment, id);
    return finish(answer, { "X-Request-Id": id, ...corsHeaders(request, ctx.config, allow) }, verb === "HEAD");
  };
}

async function respond(
  ctx: Context,
  verb: Verb,
  declaration: AnyEndpoint | undefined,
  allow: string,
  request: Request,
  segment: Segment,
  id: string,
): Promise<Response> {
  const log = ctx.log.child({ requestId: id });
  try {
    if (!declaration && verb === "OPTIONS") return new Response(null, { status: 204, headers: { Allow: allow } });
    if (!declaration) throw new AppError("method_not_allowed", { headers: { Allow: allow } });
    const result = await declaration.handle(await readInput(ctx, verb, declaration, request, segment, log));
    return result instanceof Response ? result : serialize(declaration, result);
  } catch (error) {
    const visible = toAppError(error);
    if (visible.code === "internal_error") log.error({ err: error }, "request failed");
    if (visible.code === "unavailable") log.warn({ err: error }, "database out of reach");
    return problemResponse(visible, id, ctx.config.baseUrl);
  }
}

/** Everything between the method and the service, in the order that http.md of the design names. */
async function readInput(
  ctx: Context,
  verb: Verb,
  declaration: AnyEndpoint,
  request: Request,
  segment: Segment,
  log: Context["log"],
): Promise<Input<unknown, unknown, unknown, Principal | null>> {
  if (declaration.body && declaration.body !== "raw") requireJson(request);
  const raw = declaration.body
    ? await readBody(request, declaration.bodyLimitBytes ?? BODY_LIMIT_BYTES)
    : new Uint8Array();
  if (declaration.database !== false && !(await ctx.database.migrated())) throw new AppError("unavailable");
  const account = declaration.auth === "account" ? await authenticate(ctx, request.headers) : null;
  const changes = verb !== "GET" && verb !== "HEAD";
  if (changes && account?.session.via === "cookie") requireOwnOrigin(request.headers, ctx.config);
  const params = await (declaration.params ? parseParams(declaration.params, segment) : segment.params);
  const query = declaration.query ? parseQuery(declaration.query, search(request.url)) : {};
  const body = typeof declaration.body === "object" ? parseBody(declaration.body, parseJson(raw)) : undefined;
  const address = clientAddress(request.headers, segment.remoteAddress, ctx.config.TRUSTED_PROXY_HOPS);
  if (declaration.limit) await ctx.limits.consume(declaration.limit, account?.account.id ?? address);
  return { ctx, request, params, query, body, raw, account, address, log };
}

/** A path segment that cannot name anything is not found, whatever is wrong with it. */
async function parseParams(schema: z.ZodType, segment: Segment): Promise<unknown> {
  const parsed = schema.safeParse(await segment.params);
  if (!parsed.success) throw new AppError("not_found");
  return parsed.data;
}

function serialize(declaration: AnyEndpoint, result: unknown): Response {
  const { status, body, headers }: Reply = isReply(result)
    ? result
    : { status: Number(Object.keys(declaration.responses)[0]), body: result, headers: {} };
  const schema = declaration.responses[status];
  if (schema === undefined) throw new Error(`The route does not declare status ${status}`);
  if (schema === null) return new Response(null, { status, headers });
  const text = JSON.stringify(schema.parse(body));
  const length = String(Buffer.byteLength(text));
  return new Response(text, {
    status,
    headers: { "Content-Type": "application/json", "Content-Length": length, ...headers },
  });
}

function finish(response: Response, headers: Record<string, string>, head: boolean): Response {
  const answer = head && response.body ? withoutBody(response) : response;
  for (const [name, value] of Object.entries(headers)) answer.headers.append(name, value);
  answer.headers.set("X-Content-Type-Options", "nosniff");
  if (!answer.headers.has("Cache-Control")) answer.headers.set("Cache-Control", "private, no-store");
  return answer;
}

/** The answer to HEAD: the same status and headers; nothing left open. */
function withoutBody(response: Response): Response {
  void response.body?.cancel();
  return new Response(null, { status: response.status, headers: response.headers });
}

function requestId(request: Request): string {
  const given = request.headers.get("x-request-id");
  return given !== null && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : randomUUID();
}

/** The query of a URL, without building one. */
function search(url: string): string {
  const at = url.indexOf("?");
  return at < 0 ? "" : url.slice(at);
}
