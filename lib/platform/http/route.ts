import { currentContext } from "../../context";
import { AppError } from "../../errors";
import {
  type AnyDeclaration,
  declare,
  type Input,
  isInPerson,
  isRestricted,
  type OperationResponse,
  type RequestScope,
  responseOf,
  statusOf,
} from "../../operation";
import type { OperatorName } from "../../principal";
import { logRefusal } from "../audit/refusals";
import { isStreamed, jsonResponse, type RouteRequest, RouteResponse, requestId, toResponse } from "../http-message";
import { DEFAULT_MAX_BODY_BYTES, decodeBody, formatOf, readBody } from "./body";
import { clientNetwork } from "./client-ip";
import { deprecationHeaders } from "./deprecation";
import { callerIn, EndpointInput } from "./endpoint-input";
import { withIdempotency } from "./idempotency";
import { corsHeaders, requireOwnOrigin } from "./origin";
import { problemResponse, toAppError } from "./problem";
import { securityHeaders } from "./security-headers";
import { parseBody, parseParams, parseQuery } from "./validation";

/** The methods that the App Router knows. */
export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;
type Method = (typeof METHODS)[number];

type PathParams = Record<string, string | string[] | undefined>;
/**
 * What an App Router handler receives besides the request; the socket's IP and the limit of streams to it where the HTTP
 * server knows them; and who runs the command that calls the handler in its own process.
 */
export type RouteContext = {
  params?: PathParams | Promise<PathParams>;
  socketIp?: string | undefined;
  /** Called before a body is streamed. @throws AppError rate_limited */
  admitStream?: () => void;
  operator?: OperatorName;
};
type DirectHandler = (request: RouteRequest, context: RouteContext) => Promise<RouteResponse>;

/**
 * An App Router route handler. The HTTP server calls `respond`, which makes no `Response`, and `respondToOther` for
 * methods that the App Router does not know. `endpoint` is undefined if the method is not declared.
 */
export type RouteHandler = ((request: Request, context: RouteContext) => Promise<Response>) & {
  respond: DirectHandler;
  respondToOther: DirectHandler;
  endpoint: AnyDeclaration | undefined;
};

export type RouteHandlers = Record<Method, RouteHandler>;

/** One method of a route. `path` is as the App Router writes it, `allow` the value of the `Allow` header. */
type Route = { path: string; method: Method | "other"; endpoint: AnyDeclaration | undefined; allow: string };

/**
 * Makes App Router route handlers, one for each method: HEAD follows GET, OPTIONS lists the methods, and undeclared
 * methods respond with 405. `path` is as the App Router writes it. If it `takesMethodOverride`, a POST is taken for the
 * method in X-HTTP-Method-Override, for clients that cannot send others (tus.io, "tus resumable upload protocol", 1.0).
 */
export function defineRoute(
  path: string,
  endpoints: Partial<Record<Method, AnyDeclaration>>,
  { takesMethodOverride = false } = {},
): RouteHandlers {
  const declared = { ...endpoints, ...(endpoints.GET && !endpoints.HEAD ? { HEAD: endpoints.GET } : {}) };
  const allow = METHODS.filter((method) => method === "OPTIONS" || declared[method]).join(", ");
  const handlerOf = (method: Method | "other", endpoint?: AnyDeclaration): DirectHandler => {
    const route = { path, method, endpoint, allow };
    return (request, context) => handleRequest(route, request, context);
  };
  const respondToOther = handlerOf("other");
  const handlers = METHODS.map((method) => {
    const respondToOwn = handlerOf(method, declared[method]);
    const respond: DirectHandler = (request, context) => {
      const override = takesMethodOverride && method === "POST" && request.headers.get("x-http-method-override");
      if (!override) return respondToOwn(request, context);
      const other = METHODS.find((one) => one === override.toUpperCase());
      return handlerOf(other ?? "other", other && declared[other])(request, context);
    };
    const handle = async (request: Request, context: RouteContext) => toResponse(await respond(request, context));
    return [method, Object.assign(handle, { respond, respondToOther, endpoint: declared[method] })];
  });
  return Object.fromEntries(handlers) as RouteHandlers;
}

/** Handlers that leave each request to those of exactly its path in `routes`, and any other to `otherwise`. */
export function defineRoutes(routes: ReadonlyMap<string, RouteHandlers>, otherwise: RouteHandlers): RouteHandlers {
  const handlers = METHODS.map((method) => {
    const respondBy = (name: "respond" | "respondToOther"): DirectHandler => {
      return (request, context) => {
        const { pathname } = new URL(request.url, "http://localhost");
        return (routes.get(pathname) ?? otherwise)[method][name](request, context);
      };
    };
    const respond = respondBy("respond");
    const handle = async (request: Request, context: RouteContext) => toResponse(await respond(request, context));
    const direct = { respond, respondToOther: respondBy("respondToOther"), endpoint: undefined };
    return [method, Object.assign(handle, direct)];
  });
  return Object.fromEntries(handlers) as RouteHandlers;
}

/** A route that responds 404 to every method. */
export function defineNothing(path: string): RouteHandlers {
  const nothing = declare({
    summary: "Not found",
    database: false,
    response: { status: 404, schema: null },
    run: () => {
      throw new AppError("not_found");
    },
  });
  const declared = METHODS.map((method) => [method, nothing]);
  return defineRoute(path, Object.fromEntries(declared) as Record<Method, AnyDeclaration>);
}

/**
 * The pipeline of every request: to an API route, a form or next-auth. This file has its steps in their order:
 * id → method → body cap → session → origin → role, level → params, query, body → limit → service → response schema →
 * headers.
 */
async function handleRequest(route: Route, request: RouteRequest, context: RouteContext): Promise<RouteResponse> {
  const scope = openScope(request, context);
  try {
    return addHeaders(route, scope, await respond(route, scope, context));
  } catch (error) {
    return addHeaders(route, scope, await endpointError(route, scope, logError(route, scope, error)));
  }
}

/** The response to a request that fails before its route is known. The log has `path` as the route. */
export function respondWithError(path: string, request: RouteRequest, error: unknown): RouteResponse {
  const scope = openScope(request);
  const method = METHODS.find((one) => one === request.method) ?? "other";
  const route: Route = { path, method, allow: "", endpoint: undefined };
  return addHeaders(route, scope, problemOf(scope, logError(route, scope, error)));
}

function openScope(request: RouteRequest, { socketIp, operator }: RouteContext = {}): RequestScope {
  const [ctx, id, startedMs] = [currentContext(), requestId(request), performance.now()];
  const unread = { bytes: new Uint8Array(), format: "none", principal: null, params: undefined } as const;
  return { ctx, id, request, socketIp, operator, startedMs, ...unread };
}

async function respond({ endpoint, method, allow }: Route, scope: RequestScope, context: RouteContext) {
  const { ctx, request } = scope;
  if (ctx.authentication.hasKeyInUrl(request.url)) {
    return ctx.authentication.revokeKeyInUrl(ctx, request.url, callerIn(scope));
  }
  if (!endpoint && method === "OPTIONS") return new RouteResponse(204, null, { Allow: allow });
  if (!endpoint) throw new AppError("method_not_allowed", { headers: { Allow: allow } });
  const input = await readInput(endpoint, method, scope, context);
  const write = (result: unknown) => {
    const response = writeResult(endpoint, result);
    if (method !== "HEAD" && isStreamed(response.body)) context.admitStream?.();
    return response;
  };
  if (endpoint.idempotency) return withIdempotency(endpoint, scope, async () => write(await endpoint.run(input)));
  return write(await endpoint.run(input));
}

async function readInput(endpoint: AnyDeclaration, method: string, scope: RequestScope, context: RouteContext) {
  const { ctx, request } = scope;
  // Body cap
  const formats = [endpoint.bodyFormat ?? (endpoint.body ? "json" : "none")].flat();
  const isRead = !formats.includes("none") && !formats.includes("stream");
  if (isRead) scope.bytes = await readBody(request, endpoint.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES);
  if (!endpoint.isBodyOptional || scope.bytes.length > 0) scope.format = formatOf(request, formats);
  // Session and origin
  if (endpoint.isOwnOriginRequired?.(request, ctx)) requireOwnOrigin(request.headers, ctx.config);
  if (endpoint.database !== false && !(await ctx.database.migrated())) throw new AppError("unavailable");
  if (isRestricted(endpoint)) scope.principal = await authenticate(endpoint, method, scope);
  // Params, query, body
  if (endpoint.params) scope.params = parseParams(endpoint.params, await context.params);
  const input = inputOf(endpoint, scope);
  // Recent authentication
  if (endpoint.stepUp && scope.principal && "session" in scope.principal) {
    await ctx.authentication.requireStepUp(ctx, scope.principal, input.caller);
  }
  // Limit
  const { accountId = input.caller.ip, keyId = accountId, publisherId = keyId, operator = publisherId } = idsOf(scope);
  if (endpoint.limit) await ctx.limits.consume(endpoint.limit, operator);
  if (ctx.config.AUTH_HUMAN_PACE && isInPerson(endpoint, method)) {
    const { pathname } = new URL(request.url, "http://localhost");
    await ctx.limits.consume("humanPace", `${method} ${pathname} ${operator}`);
  }
  return input;
}

function authenticate(endpoint: AnyDeclaration, method: string, scope: RequestScope) {
  const { ctx, request, socketIp, operator } = scope;
  const sent = { method, headers: request.headers, socketIp, operator, hasSideEffect: endpoint.hasSideEffect };
  return ctx.authentication.authenticate(ctx, sent, endpoint);
}

function inputOf(endpoint: AnyDeclaration, scope: RequestScope): Input {
  const { request, format, bytes } = scope;
  const query = endpoint.query ? parseQuery(endpoint.query, request.url) : {};
  const body = endpoint.body ? parseBody(endpoint.body, decodeBody(format, bytes)) : undefined;
  return new EndpointInput(scope, query, body);
}

const EMPTY: OperationResponse = { schema: null };

/** A result as its schema allows it: nothing else leaves the service. */
function writeResult(endpoint: AnyDeclaration, result: unknown): RouteResponse {
  if (endpoint.writes === "raw") return result as RouteResponse;
  const defaultStatus = statusOf(endpoint.response ?? EMPTY);
  const { status, body, headers } =
    result instanceof RouteResponse ? result : new RouteResponse<unknown>(defaultStatus, result);
  const declared = responseOf(endpoint, status);
  if (declared === undefined) throw new Error(`The route does not declare status ${status}`);
  const { schema } = declared;
  return schema === null ? new RouteResponse(status, null, headers) : jsonResponse(status, schema.parse(body), headers);
}

/** Logs an error of a request. Returns what its client may see of it. */
function logError({ path, method }: Route, scope: RequestScope, error: unknown): AppError {
  const { ctx, id } = scope;
  const visible = toAppError(error);
  const ip = clientNetwork(scope.request.headers, scope.socketIp, ctx.config.TRUSTED_PROXY_HOPS);
  logRefusal(ctx, visible, ip, { requestId: id, method, route: path, ...idsOf(scope) });
  if (visible.code === "internal_error") ctx.log.error({ err: error, requestId: id }, "request failed");
  if (visible.code === "unavailable") ctx.log.warn({ err: error, requestId: id }, "database unavailable");
  return visible;
}

/** The endpoint's own response to an error, or the problem document. */
async function endpointError({ endpoint }: Route, scope: RequestScope, error: AppError): Promise<RouteResponse> {
  const written = (await endpoint?.writeError?.(error, scope)) ?? error;
  return written instanceof RouteResponse ? written : problemOf(scope, written);
}

function problemOf({ ctx, id }: RequestScope, error: AppError): RouteResponse {
  return problemResponse(error, id, ctx.config.baseUrl);
}

/** The account, the API key or the operator that sends a request. */
function idsOf({
  principal,
}: RequestScope): Partial<Record<"accountId" | "keyId" | "operator" | "publisherId", string>> {
  if (principal === null) return {};
  if ("operator" in principal) return { operator: principal.operator };
  if ("publisher" in principal) return { publisherId: principal.publisher.id };
  return "key" in principal ? { keyId: principal.key.id } : { accountId: principal.account.id };
}

/** The headers that every response has. Logs the request. */
function addHeaders({ path, method, endpoint, allow }: Route, scope: RequestScope, response: RouteResponse) {
  const { ctx, id, request, startedMs } = scope;
  const { status } = response;
  const ms = performance.now() - startedMs;
  ctx.observe({ requestId: id, method, route: path, status, ms, ...idsOf(scope) }, request);
  return new RouteResponse(status, method === "HEAD" ? null : response.body, {
    "Cache-Control": "private, no-store",
    ...securityHeaders(ctx.config),
    ...(endpoint?.deprecated && deprecationHeaders(endpoint.deprecated, ctx.config)),
    ...response.headers,
    "X-Request-Id": id,
    ...(ctx.config.CORS_ALLOWED_ORIGINS.length > 0 ? corsHeaders(request, ctx.config, allow) : undefined),
  });
}
