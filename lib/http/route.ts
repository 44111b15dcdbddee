import type { z } from "zod";
import { authenticate, type Principal } from "../auth/authenticate";
import { type Context, currentContext } from "../context";
import { AppError, type ErrorCode } from "../errors";
import { clientAddress } from "./client-address";
import { parseBody, parseJson, parseQuery, readBody, requireJson } from "./input";
import { corsHeaders, requireOwnCaller } from "./origin";
import { problemResponse, toAppError } from "./problem";
import type { LimitName } from "./rate-limits";
import { type RequestHead, type RouteRequest, requestId } from "./route-request";
import { jsonResponse, RouteResponse, toResponse } from "./route-response";

const BODY_LIMIT_BYTES = 16 * 1024;
const VERBS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;
type Verb = (typeof VERBS)[number];

type PathParams = Record<string, string | string[] | undefined>;
/** What comes beside the request: the path's parameters, and the socket's address where the front door knows it. */
export type RouteContext = { params?: PathParams | Promise<PathParams>; remoteAddress?: string };

/**
 * An App Router route handler. `answer` is the same without a Response, for the front door; `other` is what a
 * method gets that the App Router does not know.
 */
export type RouteHandler = ((request: Request, segment: RouteContext) => Promise<Response>) & {
  respond: DirectHandler;
  other: DirectHandler;
  /** What it was made from, for the API's description; undefined where the method is not declared. */
  declaration: AnyEndpoint | undefined;
};
type DirectHandler = (request: RouteRequest, segment: RouteContext) => RouteResponse | Promise<RouteResponse>;

/** What a handler gets. `raw` is the body as it came. */
type Input<Params, Query, Body, Account> = {
  ctx: Context;
  request: RequestHead;
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
  /** What it may answer beside what its other members lead to, for the API's description. */
  errors?: readonly ErrorCode[];
  /** "account": needs a session, by bearer token or cookie. */
  auth?: Auth;
  /** false: answers while the database is down. */
  database?: false;
  params?: z.ZodType<Params>;
  query?: z.ZodObject & z.ZodType<Query>;
  /** A JSON body; "raw" leaves reading it to the handler. */
  body?: z.ZodType<Body> | "raw";
  bodyLimitBytes?: number;
  /** For a GET that counts or records something: with a session cookie it has to come from our own pages. */
  hasEffect?: true;
  /** Counted by account where there is one, else by address. */
  limit?: LimitName;
  /**
   * "json" (default): the handler returns a value, or a `RouteResponse` around one, for the schema of its status.
   * "raw": it returns a finished `RouteResponse`, and `responses` only describe it.
   */
  writes?: "json" | "raw";
  /** The schema of each successful response's body; null for an empty or binary one. The first is the default status. */
  responses: Record<number, z.ZodType | null>;
  handle: (input: Input<Params, Query, Body, Auth extends "account" ? Principal : null>) => Promise<unknown> | unknown;
};

/** An endpoint of any types: `endpoint` has held its parts against each other. */
export type AnyEndpoint = Omit<Endpoint, "params" | "query" | "body" | "auth" | "handle"> & {
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

/** One endpoint for every method there is. */
export function forEveryMethod(declaration: AnyEndpoint): Record<Verb, AnyEndpoint> {
  return Object.fromEntries(VERBS.map((verb) => [verb, declaration])) as Record<Verb, AnyEndpoint>;
}

/**
 * Turns declarations into App Router route handlers, one a method: undeclared methods answer 405, HEAD
 * follows GET, OPTIONS tells what is allowed, every error is a problem document. `path` is the route's, as
 * the App Router writes it.
 */
export function defineRoute(path: string, endpoints: Partial<Record<Verb, AnyEndpoint>>): Record<Verb, RouteHandler> {
  const declared = { ...endpoints, ...(endpoints.GET && !endpoints.HEAD ? { HEAD: endpoints.GET } : {}) };
  const allow = VERBS.filter((verb) => verb === "OPTIONS" || declared[verb]).join(", ");
  const other = direct({ path, verb: "other", declaration: undefined, allow });
  const handlers = VERBS.map((verb) => {
    const respond = direct({ path, verb, declaration: declared[verb], allow });
    const handle = async (request: Request, segment: RouteContext) => toResponse(await respond(request, segment));
    return [verb, Object.assign(handle, { respond, other, declaration: declared[verb] })];
  });
  return Object.fromEntries(handlers) as Record<Verb, RouteHandler>;
}

type Route = { path: string; verb: Verb | "other"; declaration: AnyEndpoint | undefined; allow: string };
/** One request on its way through. */
type RequestScope = {
  ctx: Context;
  id: string;
  request: RouteRequest;
  segment: RouteContext;
  startedMs: number;
  accountId?: string;
};

function direct(route: Route): DirectHandler {
  return (request, segment) => {
    const passage = { ctx: currentContext(), id: requestId(request), request, segment, startedMs: performance.now() };
    const refuse = (error: unknown) => finish(route, passage, refusal(passage, error));
    try {
      const made = respond(route, passage);
      return made instanceof Promise
        ? made.then((whole) => finish(route, passage, whole), refuse)
        : finish(route, passage, made);
    } catch (error) {
      return refuse(error);
    }
  };
}

/**
 * The answer to a request that no route answers, with the headers and the log line of every answer. `path` is the
 * line's route.
 */
export function respondWithError(path: string, request: RouteRequest, error: unknown): RouteResponse {
  const verb = VERBS.find((one) => one === request.method) ?? "other";
  const ctx = currentContext();
  const passage = { ctx, id: requestId(request), request, segment: {}, startedMs: performance.now() };
  return finish({ path, verb, declaration: undefined, allow: "" }, passage, refusal(passage, error));
}

/** Answers at once where nothing has to be waited for: a promise costs more than what health and version do. */
function respond({ verb, declaration, allow }: Route, passage: RequestScope): RouteResponse | Promise<RouteResponse> {
  if (!declaration && verb === "OPTIONS") return { status: 204, headers: { Allow: allow }, body: null };
  if (!declaration) throw new AppError("method_not_allowed", { headers: { Allow: allow } });
  const settled = (result: unknown) => (result instanceof Promise ? result.then(serialized) : serialized(result));
  const serialized = (result: unknown) => serialize(declaration, result);
  const { params, body, auth, limit, database } = declaration;
  if (params || body || auth === "account" || limit || database !== false) {
    return readInput(verb, declaration, passage).then((input) => settled(declaration.handle(input)));
  }
  return settled(declaration.handle(inputOf(declaration, passage, {})));
}

/** What can be waited for between the method and the service, in the order that CONTRIBUTING.md names. */
async function readInput(verb: Route["verb"], declaration: AnyEndpoint, passage: RequestScope) {
  const { ctx, request, segment } = passage;
  if (declaration.body && declaration.body !== "raw") requireJson(request);
  const raw = declaration.body ? await readBody(request, declaration.bodyLimitBytes ?? BODY_LIMIT_BYTES) : undefined;
  if (declaration.database !== false && !(await ctx.database.migrated())) throw new AppError("unavailable");
  const account = declaration.auth === "account" ? await authenticate(ctx, request.headers) : null;
  passage.accountId = account?.account.id;
  if (account?.session.via === "cookie") requireOwnCaller(verb, declaration.hasEffect, request.headers, ctx.config);
  const params = declaration.params ? parseParams(declaration.params, await segment.params) : undefined;
  const input = inputOf(declaration, passage, { raw, account, params });
  if (declaration.limit) await ctx.limits.consume(declaration.limit, account?.account.id ?? input.address);
  return input;
}

type Read = { raw?: Uint8Array; account?: Principal | null; params?: unknown };

function inputOf(
  declaration: AnyEndpoint,
  { ctx, id, request, segment }: RequestScope,
  { raw, account, params }: Read,
) {
  return {
    ctx,
    request,
    params,
    query: declaration.query ? parseQuery(declaration.query, request.url) : {},
    body: typeof declaration.body === "object" && raw ? parseBody(declaration.body, parseJson(raw)) : undefined,
    raw: raw ?? new Uint8Array(),
    account: account ?? null,
    get address() {
      return clientAddress(request.headers, segment.remoteAddress, ctx.config.TRUSTED_PROXY_HOPS);
    },
    get log() {
      return ctx.log.child({ requestId: id });
    },
  };
}

/** A path segment that cannot name anything is not found, whatever is wrong with it. */
function parseParams(schema: z.ZodType, params: unknown): unknown {
  const parsed = schema.safeParse(params);
  if (!parsed.success) throw new AppError("not_found");
  return parsed.data;
}

function serialize(declaration: AnyEndpoint, result: unknown): RouteResponse {
  if (declaration.writes === "raw") return result as RouteResponse;
  const defaultStatus = Number(Object.keys(declaration.responses)[0]);
  const { status, body, headers } =
    result instanceof RouteResponse ? result : new RouteResponse<unknown>(defaultStatus, result);
  const schema = declaration.responses[status];
  if (schema === undefined) throw new Error(`The route does not declare status ${status}`);
  return schema === null ? new RouteResponse(status, null, headers) : jsonResponse(status, schema.parse(body), headers);
}

function refusal({ ctx, id }: RequestScope, error: unknown): RouteResponse {
  const visible = toAppError(error);
  if (visible.code === "internal_error") ctx.log.error({ err: error, requestId: id }, "request failed");
  if (visible.code === "unavailable") ctx.log.warn({ err: error, requestId: id }, "database out of reach");
  return problemResponse(visible, id, ctx.config.baseUrl);
}

function finish(
  { path, verb, allow }: Route,
  { ctx, id, request, startedMs, accountId }: RequestScope,
  answer: RouteResponse,
): RouteResponse {
  const ms = performance.now() - startedMs;
  ctx.observe({ requestId: id, method: verb, route: path, status: answer.status, ms, accountId }, request);
  const headers = {
    "Cache-Control": "private, no-store",
    ...answer.headers,
    "X-Content-Type-Options": "nosniff",
    "X-Request-Id": id,
    ...(ctx.config.CORS_ALLOWED_ORIGINS.length > 0 ? corsHeaders(request, ctx.config, allow) : undefined),
  };
  return { status: answer.status, headers, body: verb === "HEAD" ? null : answer.body };
}
