import { z } from "zod";
import type {
  ZodOpenApiContentObject,
  ZodOpenApiOperationObject,
  ZodOpenApiRequestBodyObject,
  ZodOpenApiResponseObject,
} from "zod-openapi";
import { type AnyEndpoint, type AuthRule, requiresSession } from "@/lib/http/endpoint";
import { type HeaderName, headersOf, type ParameterName, parameter } from "./headers";
import { describeProblems, errorsOf } from "./problem-responses";

const STEP_UP =
  "A session must have been authenticated within the last 10 minutes, with two factors if the account has a second one.";

/** The roles that each required role admits. */
const ROLES = { user: "`user`, `support` or `admin`", support: "`support` or `admin`", admin: "`admin`" };

export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;
export type Method = (typeof METHODS)[number];

/** What the document says about an operation beyond its declaration. */
export type OperationDetails = {
  operationId: string;
  /** Markdown. */
  description: string;
  deprecated?: true;
  /** The security schemes, unless they are those of an account or none. */
  security?: Record<string, never[]>[];
  /** The request headers that the operation reads. */
  reads?: readonly ParameterName[];
  /** Examples of the declared body, by summary. */
  requests?: Record<string, unknown>;
  /** The body, if the handler reads it itself. */
  requestBody?: ZodOpenApiRequestBodyObject;
  responses: Record<number, ResponseDetails>;
};

/** A success response. */
type ResponseDetails = {
  description: string;
  /** Besides those of every response. */
  headers?: readonly HeaderName[];
  /** Examples of the declared body, by summary. */
  examples?: Record<string, unknown>;
  /** The body, if the declaration lacks its schema or has only one of several. */
  content?: ZodOpenApiContentObject;
};

export type Declared = Pick<
  AnyEndpoint,
  | "summary"
  | "auth"
  | "body"
  | "database"
  | "errors"
  | "idempotency"
  | "limit"
  | "params"
  | "query"
  | "reads"
  | "responses"
>;

/** Describes an operation by its declaration and its details. HEAD responses have no bodies. */
export function describeOperation(
  method: string,
  tag: string,
  declaration: Declared,
  details: OperationDetails,
): ZodOpenApiOperationObject {
  const { summary, params, query, auth, idempotency } = declaration;
  const { operationId, description, deprecated } = details;
  const reads: ParameterName[] = [...(details.reads ?? []), ...(idempotency ? (["IdempotencyKey"] as const) : [])];
  const requestBody = details.requestBody ?? declaredBody(declaration, details);
  const responses = union(successes(declaration, details), describeProblems(errorsOf(declaration, method)));
  return {
    operationId,
    summary,
    description: [description, ...requirementsOf(auth)].join("\n\n"),
    tags: [tag],
    ...(deprecated ? { deprecated } : {}),
    security: details.security ?? securityOf(auth),
    ...(reads.length > 0 ? { parameters: reads.map(parameter) } : {}),
    ...(params || query ? { requestParams: paramsOf(params, query) } : {}),
    ...(requestBody ? { requestBody } : {}),
    responses: method === "HEAD" ? withoutBodies(responses) : responses,
  };
}

function securityOf(auth: AuthRule | undefined): Record<string, never[]>[] {
  if (!requiresSession(auth)) return [];
  const takesKeys = typeof auth === "object" && auth.scope !== undefined;
  return [{ bearer: [] }, { cookie: [] }, ...(takesKeys ? [{ apiKey: [] }] : [])];
}

/** What the rule of an endpoint requires, as a sentence each. */
function requirementsOf(auth: AuthRule | undefined): string[] {
  if (typeof auth !== "object") return [];
  const { role, aal, maxAgeSeconds, stepUp, scope } = auth;
  const orKey = scope ? `, or an API key with the scope \`${scope}\`` : "";
  return [
    ...(role ? [`Requires the role ${ROLES[role]}${orKey}.`] : []),
    ...(aal === 2 ? ["Requires a session that was authenticated with two factors or a passkey."] : []),
    ...(maxAgeSeconds ? [`Requires an authentication within the last ${maxAgeSeconds / 60} minutes.`] : []),
    ...(stepUp ? [STEP_UP] : []),
  ];
}

function paramsOf(path: Declared["params"], query: Declared["query"]) {
  return { ...(path instanceof z.ZodObject ? { path } : {}), ...(query ? { query } : {}) };
}

function declaredBody(declared: Declared, { requests = {} }: OperationDetails): ZodOpenApiRequestBodyObject | null {
  const { body, reads } = declared;
  if (!(body instanceof z.ZodType)) return null;
  const mediaType = reads === "form" ? "application/x-www-form-urlencoded" : "application/json";
  return { required: true, content: { [mediaType]: { schema: body, examples: examplesOf(requests) } } };
}

function successes({ summary, responses, idempotency }: Declared, { responses: details }: OperationDetails) {
  const replayed: HeaderName[] = idempotency === "replay" ? ["Idempotency-Replayed"] : [];
  const described = Object.entries(responses).map(([status, schema]) => {
    const one = details[Number(status)];
    if (!one) throw new Error(`No description of ${status} of "${summary}"`);
    const { description, headers = [], examples = {} } = one;
    const json = schema && { "application/json": { schema, examples: examplesOf(examples) } };
    const content = one.content ?? json;
    return [
      status,
      { description, headers: headersOf([...headers, ...replayed]), ...(content ? { content } : {}) },
    ] as const;
  });
  return Object.fromEntries(described);
}

type Responses = Record<string, ZodOpenApiResponseObject>;

/** Merges responses with the problems of the same statuses. */
function union(own: Responses, problems: Responses): Responses {
  const both = Object.entries(own).flatMap(([status, { description, headers, content }]) => {
    const problem = problems[status];
    if (!problem) return [];
    const described = `${description} The response can also be a problem document.`;
    const merged = { ...headers, ...problem.headers } as typeof headers;
    return [[status, { description: described, headers: merged, content: { ...content, ...problem.content } }]];
  });
  return { ...own, ...problems, ...Object.fromEntries(both) };
}

/** OpenAPI's examples of values by summary. */
export function examplesOf(values: Record<string, unknown>) {
  const named = Object.entries(values).map(([summary, value]) => {
    const name = summary.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
    return [name, { summary, value }] as const;
  });
  return Object.fromEntries(named);
}

/** RFC 9110, section 9.3.2. */
function withoutBodies(responses: Responses): Responses {
  const bare = Object.entries(responses).map(([status, { description, headers }]) => [
    status,
    { description, ...(headers ? { headers } : {}) },
  ]);
  return Object.fromEntries(bare);
}
