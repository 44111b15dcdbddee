import type { z } from "zod";
import type { Context } from "../context";
import type { AppError, ErrorCode } from "../errors";
import type { AccessRule, AnyPrincipal, Caller, LocalOperatorPrincipal, OperatorName, Principal } from "../principal";
import type { LimitName } from "../rate-limits";
import type { BodyFormat } from "./input/body";
import type { RequestHead, RouteRequest } from "./route-request";
import type { RouteResponse } from "./route-response";

/**
 * A request in progress. `bytes` is its body as it was received, empty until it is read; `format` is how it is read.
 */
export type RequestScope = {
  ctx: Context;
  id: string;
  request: RouteRequest;
  /** The socket's IP, where the HTTP server knows it. */
  socketIp: string | undefined;
  /** Who runs the command that dispatches the request in its own process. Never set for a request from a socket. */
  operator?: OperatorName | undefined;
  startedMs: number;
  bytes: Uint8Array;
  format: BodyFormat;
  principal: AnyPrincipal | null;
  params: unknown;
};

/** Who may call an endpoint: anyone, every account, or those that meet a rule. */
export type AuthRule = "none" | "account" | AccessRule;

/** Whether an endpoint requires a session. */
export function requiresSession(auth: AuthRule | undefined): boolean {
  return auth !== undefined && auth !== "none";
}

/**
 * The principal that a rule admits: an account's session or, where the rule allows it, this machine's operator or an
 * API key. null on public endpoints.
 */
type PrincipalOf<Auth extends AuthRule> = Auth extends "none"
  ? null
  : Auth extends { scope: string }
    ? AnyPrincipal
    : Auth extends { role: string }
      ? Principal | LocalOperatorPrincipal
      : Principal;

/** What a handler receives. */
export type Input<Params = unknown, Query = unknown, Body = unknown, Auth extends AuthRule = "none"> = {
  ctx: Context;
  request: RequestHead;
  params: Params;
  query: Query;
  body: Body;
  /** The body as it was received. */
  bytes: Uint8Array;
  /** The body of an endpoint that reads a "stream". It may take any time, and the handler limits its size. */
  stream: AsyncIterable<Uint8Array>;
  /** The signed-in account and its session, the API key or this machine's operator; null on public routes. */
  principal: PrincipalOf<Auth>;
  caller: Caller;
  /** The client's IP address, its IPv6 network (/64) or "unknown". */
  ip: string;
  log: Context["log"];
};

type Written = RouteResponse | AppError;

/** One method of a route: everything that the pipeline in route.ts and the API's description need to know. */
export type Endpoint<Params = unknown, Query = unknown, Body = unknown, Auth extends AuthRule = "none"> = {
  summary: string;
  /** Error codes beyond those that follow from the other fields, for the API's description. */
  errors?: readonly ErrorCode[];
  /**
   * "account": requires a session, by bearer token or cookie. A rule also requires a role, a level or a fresh sign-in.
   */
  auth?: Auth;
  /**
   * What a repeated Idempotency-Key gets: "replay" the first response, "refuse" an error, because the response has a
   * secret, which is not stored.
   */
  idempotency?: "replay" | "refuse";
  /** false: works while the database is unavailable. */
  database?: false;
  params?: z.ZodType<Params>;
  query?: z.ZodObject & z.ZodType<Query>;
  /** The accepted formats of the body. Default: "json" with a `body` schema, otherwise "none". */
  reads?: BodyFormat | readonly BodyFormat[];
  body?: z.ZodType<Body>;
  isBodyOptional?: true;
  /** Default: `DEFAULT_MAX_BODY_BYTES`. */
  maxBodyBytes?: number;
  /** A GET that counts or records something. With a session cookie it must come from our own pages. */
  hasSideEffect?: true;
  /** Whether the request must come from our own pages, with or without a session. */
  isOwnOriginRequired?: (request: RequestHead, ctx: Context) => boolean;
  /** Counted per account if the endpoint requires one, otherwise per client network. */
  limit?: LimitName;
  /**
   * "json" (default): the handler returns a value, or a `RouteResponse` around one, for the schema of its status.
   * "raw": it returns a finished `RouteResponse`, and `responses` only describes it.
   */
  writes?: "json" | "raw";
  /**
   * The schema of each successful response's body; null for an empty or binary one. The first is the default status.
   */
  responses: Record<number, z.ZodType | null>;
  handle: (input: Input<Params, Query, Body, Auth>) => Promise<unknown> | unknown;
  /** Writes the response to an error, or returns the error for a problem document (default). */
  writeError?: (error: AppError, scope: RequestScope) => Written | Promise<Written>;
};

/** An endpoint of any types, which `endpoint` has checked against each other. */
export type AnyEndpoint = Omit<Endpoint, "params" | "query" | "body" | "auth" | "handle"> & {
  auth?: AuthRule;
  params?: z.ZodType;
  query?: z.ZodObject;
  body?: z.ZodType;
  // biome-ignore lint/suspicious/noExplicitAny: the input is made from the schemas that typed it.
  handle: (input: Input<any, any, any, any>) => unknown;
};

/** Checks the types of one declaration against each other. Does nothing at run time. */
export function endpoint<Params, Query, Body, Auth extends AuthRule = "none">(
  declaration: Endpoint<Params, Query, Body, Auth>,
): AnyEndpoint {
  return declaration;
}
