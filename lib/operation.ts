import type { z } from "zod";
import type { Context } from "./context";
import type { AppError, ErrorCode } from "./errors";
import type { AccountRole } from "./platform/db/generated/client";
import type { BodyFormat, RequestHead, RouteRequest, RouteResponse } from "./platform/http-message";
import type { LimitName } from "./platform/rate-limits";
import type {
  AccessRule,
  AnyPrincipal,
  Caller,
  LocalOperatorPrincipal,
  Operator,
  OperatorName,
  Principal,
  Scope,
} from "./principal";

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
  /** Identifies the change that a request with an Idempotency-Key makes: the same in each attempt until one has a response. */
  changeId?: string;
  bytes: Uint8Array;
  format: BodyFormat;
  principal: AnyPrincipal | null;
  params: unknown;
};

type OperatorRole = Exclude<AccountRole, "user">;

/**
 * The principal that a declaration admits: an account's session or, for operators, this machine's operator or an API key.
 * null if it admits anybody.
 */
type PrincipalOf<Role, Scoped, Session> = Scoped extends Scope
  ? AnyPrincipal
  : Role extends OperatorRole
    ? Principal | LocalOperatorPrincipal
    : Session extends true
      ? Principal
      : null;

/** What `run` receives. */
export type Input<
  Params = unknown,
  Query = unknown,
  Body = unknown,
  Role = undefined,
  Scoped = undefined,
  Session = undefined,
> = {
  ctx: Context;
  request: RequestHead;
  params: Params;
  query: Query;
  body: Body;
  /** The body as it was received. */
  bytes: Uint8Array;
  /** A body with the format "stream". It may take any time, and `run` limits its size. */
  stream: AsyncIterable<Uint8Array>;
  /** The signed-in account and its session, the API key or this machine's operator; null if anybody is admitted. */
  principal: PrincipalOf<Role, Scoped, Session>;
  /** Who changes something as an operator. @throws Error unless operators alone are admitted */
  operator: Operator;
  caller: Caller;
  /** Of a request with an Idempotency-Key: what an attempt has created under this id, the next one does not create again. */
  changeId?: string | undefined;
  /** The client's IP address, its IPv6 network (/64) or "unknown". */
  ip: string;
  log: Context["log"];
};

/** Bodies for the documentation, by media type. `examples` are by summary. */
export type Content = Record<string, { schema?: z.ZodType | object; examples?: Record<string, unknown> }>;

export type OperationResponse = {
  /** Default: 200, and 204 without a schema. */
  status?: number;
  description?: string;
  /** Of the body; null for an empty or binary one. */
  schema: z.ZodType | null;
  /** Besides those of every response. */
  headers?: readonly string[];
  /** Examples of the body, by summary. */
  examples?: Record<string, unknown>;
  /** The bodies for the documentation, if `schema` is null or only one of several. */
  content?: Content;
};

/**
 * From which day an operation is deprecated, on which it ends, at least a year later (docs/versions.md), and the path that
 * replaces it. Days are in UTC: 2027-01-31.
 */
export type Deprecation = { since: string; sunset: string; successor: string };

/** What the documentation says beyond the fields that the pipeline reads. */
type Documentation = {
  /** Markdown. */
  description: string;
  /** The security schemes, unless they follow from who is admitted. */
  security?: Record<string, never[]>[];
  /** The request headers that are read, by their names in the documentation. */
  headers?: readonly string[];
  /** Examples of the declared body, by summary. */
  examples?: Record<string, unknown>;
  /** The body, if `run` reads it itself. */
  requestBody?: { required?: boolean; content: Content };
};

/** Who is admitted, how the input is read, what is returned, and what runs: all that the pipeline needs to know. */
type Declaration<Params, Query, Body, Role, Scoped, Session, Result = unknown, Fields = unknown> = Pick<
  AccessRule,
  "aal" | "maxAgeSeconds" | "stepUp"
> & {
  summary: string;
  /** Requires a session, by bearer token or cookie, as `role`, `scope` and the rule's fields do. Without any, anybody is admitted. */
  session?: Session;
  /** The account's role, at least. */
  role?: Role;
  /** The API keys that are admitted, too: those with this scope. */
  scope?: Scoped;
  /** Error codes beyond those that follow from the other fields, for the documentation. */
  errors?: readonly ErrorCode[];
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
  bodyFormat?: BodyFormat | readonly BodyFormat[];
  body?: z.ZodType<Body>;
  isBodyOptional?: true;
  /** Default: `DEFAULT_MAX_BODY_BYTES`. */
  maxBodyBytes?: number;
  /** A GET that counts or records something. With a session cookie it must come from our own pages. */
  hasSideEffect?: true;
  /** Whether the request must come from our own pages, with or without a session. */
  isOwnOriginRequired?: (request: RequestHead, ctx: Context) => boolean;
  /** What anybody submits in person, such as a registration: its pace is limited with AUTH_HUMAN_PACE, as that of users' sessions. */
  isInPerson?: true;
  /** Counted per account if a session is required, otherwise per client network. */
  limit?: LimitName;
  /**
   * "json" (default): `run` returns a value, or a `RouteResponse` around one, for the schema of its status.
   * "raw": it returns a finished `RouteResponse`, and `response` only describes it.
   */
  writes?: "json" | "raw";
  /** Every response, the documentation and the types of clients say it. */
  deprecated?: Deprecation;
  response?: OperationResponse;
  /** Further ones, by status. */
  otherResponses?: Record<number, OperationResponse>;
  run: (input: Input<Params, Query, Body, Role, Scoped, Session>) => Promise<Result> | Result;
  form?: ConsoleForm<Params, Query, Body, Fields, Result>;
  /** Writes the response to an error, or returns the error for a problem document (default). */
  writeError?: (error: AppError, scope: RequestScope) => Written | Promise<Written>;
};
type Written = RouteResponse | AppError;

/** Per error code: the field that shows the error (default: above the form), and a message instead of its title. */
export type ErrorPlacement = Partial<Record<ErrorCode, { field?: string; message?: string }>>;

/**
 * What a form of the console leads to: the message that the next page lists as `done`, and that page, if it is not the
 * one with the form. It shows `secret` once; null: it shows no secret any longer.
 */
type Outcome = { done?: string; to?: string; secret?: { kind: string; value: string } | null };

/** The input of `run` that a form gives. `ifMatch`: the header `If-Match`, with the state that its page has shown. */
type Given<Params, Query, Body> = { params?: Params; query?: Query; body?: Body; ifMatch?: string };

/**
 * How a form of the console runs an operation. Without `fields`, the form has those of the params, the query and the
 * body; without `toInput`, each field is given to the schema that has its name.
 */
type ConsoleForm<Params, Query, Body, Fields, Result> = {
  fields?: z.ZodType<Fields>;
  toInput?: (fields: Fields, ctx: Context) => Given<Params, Query, Body>;
  /** Fields whose values are filled in again after an error. */
  kept?: readonly string[];
  errors?: ErrorPlacement;
  after?: (result: Result, fields: Fields) => Outcome;
};

/** A declaration of any types, which `declare` has checked against each other. */
export type AnyDeclaration = Omit<
  // biome-ignore lint/suspicious/noExplicitAny: the input is made from the schemas that typed it.
  Declaration<any, any, any, AccountRole, Scope, true, any, any>,
  "run" | "query" | "params" | "body"
> & {
  params?: z.ZodType;
  query?: z.ZodObject;
  body?: z.ZodType;
  // biome-ignore lint/suspicious/noExplicitAny: the input is made from the schemas that typed it.
  run: (input: Input<any, any, any, any, any, any>) => unknown;
};

/** An operation of the API: a declaration with its documentation. */
export type Operation = AnyDeclaration &
  Documentation & {
    /** Its name in the documentation, in clients and in commands. */
    id: string;
    /** What the documentation lists in its place, by method and path: next-auth's actions, the paths of a catch-all. */
    describedAs?: Record<string, DescribedOperation>;
  };

/** An operation that only the documentation knows. */
export type DescribedOperation = Omit<Operation, "run" | "form" | "describedAs">;

/** An operation of the console alone, or of the API, too. */
export type FormOperation = AnyDeclaration & Pick<Operation, "id">;

/** An operation with the types that its schemas and its rule give to the input of `run`. */
export type Declared<P, Q, B, R, S, A, T = unknown, F = unknown> = Declaration<P, Q, B, R, S, A, T, F> &
  Documentation &
  Pick<Operation, "id" | "describedAs">;

/** Checks the types of an operation against each other. Does nothing at run time. */
export function operation<
  P = unknown,
  Q = unknown,
  B = unknown,
  R extends AccountRole | undefined = undefined,
  S extends Scope | undefined = undefined,
  A extends true | undefined = undefined,
  T = unknown,
  F = P & Q & B,
>(given: Declared<P, Q, B, R, S, A, T, F>): Operation {
  return given as unknown as Operation;
}

/** The same for what is not part of the API: forms, pages' files. */
export function declare<
  P = unknown,
  Q = unknown,
  B = unknown,
  R extends AccountRole | undefined = undefined,
  S extends Scope | undefined = undefined,
  A extends true | undefined = undefined,
>(given: Declaration<P, Q, B, R, S, A>): AnyDeclaration {
  return given as unknown as AnyDeclaration;
}

/** The same for what the console alone does. */
export function formOperation<
  P = unknown,
  Q = unknown,
  B = unknown,
  R extends "support" | "admin" = "admin",
  T = unknown,
  F = P & Q & B,
>(given: Declaration<P, Q, B, R, undefined, undefined, T, F> & Pick<Operation, "id">): FormOperation {
  return given as unknown as FormOperation;
}

export const formPath = ({ id }: Pick<FormOperation, "id">): string => `/forms/console/${id}`;

/** Whether a session, an API key or this machine's operator is required. */
export function isRestricted(given: AccessRule & { session?: true }): boolean {
  const { session, role, scope, aal, maxAgeSeconds, stepUp } = given;
  return [session, role, scope, aal, maxAgeSeconds, stepUp].some((one) => one !== undefined);
}

/** Whether a person submits something: a form, or what a user's session changes. Programs have keys, and operators scripts. */
export function isInPerson(given: AccessRule & { session?: true; isInPerson?: true }, method: string): boolean {
  const isOfUsers = isRestricted(given) && given.role === undefined && given.scope === undefined;
  return given.isInPerson === true || (isOfUsers && method !== "GET" && method !== "HEAD");
}

export function statusOf({ status, schema }: OperationResponse): number {
  return status ?? (schema === null ? 204 : 200);
}

/** The response that is declared for a status; undefined if there is none. */
export function responseOf({ response, otherResponses }: AnyDeclaration, status: number) {
  return response && statusOf(response) === status ? response : otherResponses?.[status];
}

export function responsesOf({ response, otherResponses }: DescribedOperation): Record<number, OperationResponse> {
  return { ...(response ? { [statusOf(response)]: response } : {}), ...otherResponses };
}
