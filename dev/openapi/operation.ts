import { STATUS_CODES } from "node:http";
import { z } from "zod";
import type { ZodOpenApiContentObject, ZodOpenApiOperationObject, ZodOpenApiResponseObject } from "zod-openapi";
import {
  type Content,
  type DescribedOperation,
  isRestricted,
  type OperationResponse,
  responsesOf,
} from "@/lib/operation";
import { DEPRECATION_HEADERS } from "@/lib/platform/http/deprecation";
import { headersOf, parameter } from "./headers";
import { describeProblems, errorsOf } from "./problem-responses";

const STEP_UP =
  "A session must have been authenticated within the last 10 minutes, with two factors if the account has a second one.";

/** The roles that each required role admits. */
const ROLES = { user: "`user`, `support` or `admin`", support: "`support` or `admin`", admin: "`admin`" };

/** Describes an operation. HEAD responses have no bodies. */
export function describeOperation(
  method: string,
  tag: string,
  operation: DescribedOperation,
): ZodOpenApiOperationObject {
  const { id, summary, description, deprecated, params, query, idempotency, headers = [] } = operation;
  const read = [...headers, ...(idempotency ? ["IdempotencyKey"] : [])].map(parameter);
  const requestBody = requestBodyOf(operation);
  const responses = union(
    successes(operation),
    describeProblems(errorsOf(operation, method), deprecated !== undefined),
  );
  return {
    operationId: id,
    summary,
    description: [description, ...deprecationOf(operation), ...requirementsOf(operation)].join("\n\n"),
    tags: [tag],
    ...(deprecated ? { deprecated: true } : {}),
    security: operation.security ?? securityOf(operation),
    ...(read.length > 0 ? { parameters: read } : {}),
    ...(params || query ? { requestParams: paramsOf(params, query) } : {}),
    ...(requestBody ? { requestBody } : {}),
    responses: method === "HEAD" ? withoutBodies(responses) : responses,
  };
}

function securityOf(operation: DescribedOperation): Record<string, never[]>[] {
  if (!isRestricted(operation)) return [];
  return [{ bearer: [] }, { cookie: [] }, ...(operation.scope === undefined ? [] : [{ apiKey: [] }])];
}

/** What an operation requires of its caller, as a sentence each. */
function requirementsOf({ role, aal, maxAgeSeconds, stepUp, scope }: DescribedOperation): string[] {
  const orKey = scope ? `, or an API key with the scope \`${scope}\`` : "";
  return [
    ...(role ? [`Requires the role ${ROLES[role]}${orKey}.`] : []),
    ...(aal === 2 ? ["Requires a session that was authenticated with two factors or a passkey."] : []),
    ...(maxAgeSeconds ? [`Requires an authentication within the last ${maxAgeSeconds / 60} minutes.`] : []),
    ...(stepUp ? [STEP_UP] : []),
  ];
}

/** Since when and until when, as a sentence. A retired operation has no other response than errors. */
function deprecationOf({ deprecated, response }: DescribedOperation): string[] {
  if (!deprecated) return [];
  const { since, sunset, successor } = deprecated;
  if (!response) return [`Retired on ${sunset}.`];
  return [`Deprecated since ${since}: use \`${successor}\`. It works until ${sunset}, at least.`];
}

function paramsOf(path: DescribedOperation["params"], query: DescribedOperation["query"]) {
  return { ...(path instanceof z.ZodObject ? { path } : {}), ...(query ? { query } : {}) };
}

function requestBodyOf({ body, bodyFormat, examples = {}, requestBody }: DescribedOperation) {
  if (requestBody) return { ...requestBody, content: contentOf(requestBody.content) };
  if (!(body instanceof z.ZodType)) return null;
  const mediaType = bodyFormat === "form" ? "application/x-www-form-urlencoded" : "application/json";
  return { required: true, content: contentOf({ [mediaType]: { schema: body, examples } }) };
}

function successes(operation: DescribedOperation): Responses {
  const always = [
    ...(operation.idempotency === "replay" ? ["Idempotency-Replayed"] : []),
    ...(operation.deprecated ? DEPRECATION_HEADERS : []),
  ];
  const described = Object.entries(responsesOf(operation)).map(([status, response]) => {
    const { description = STATUS_CODES[status] ?? "", headers = [] } = response;
    const content = bodyOf(response);
    return [
      status,
      { description, headers: headersOf([...headers, ...always]), ...(content ? { content } : {}) },
    ] as const;
  });
  return Object.fromEntries(described);
}

function bodyOf({ schema, content, examples = {} }: OperationResponse): ZodOpenApiContentObject | null {
  if (content) return contentOf(content);
  return schema && contentOf({ "application/json": { schema, examples } });
}

function contentOf(content: Content): ZodOpenApiContentObject {
  const described = Object.entries(content).map(([mediaType, { schema, examples }]) => [
    mediaType,
    { ...(schema ? { schema } : {}), ...(examples ? { examples: examplesOf(examples) } : {}) },
  ]);
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
function examplesOf(values: Record<string, unknown>) {
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
