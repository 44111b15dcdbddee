import { z } from "zod";
import type {
  ZodOpenApiContentObject,
  ZodOpenApiOperationObject,
  ZodOpenApiRequestBodyObject,
  ZodOpenApiResponseObject,
} from "zod-openapi";
import type { AnyEndpoint } from "@/lib/http/endpoint";
import { type HeaderName, headersOf, type ParameterName, parameter } from "./headers";
import { describeProblems, errorsOf } from "./problems";

/** What an operation's declaration does not say of it, and its readers want to know. */
export type OperationDetails = {
  operationId: string;
  /** Markdown. */
  description: string;
  deprecated?: true;
  /** The ways to prove oneself, where they are not those of an account or none. */
  security?: Record<string, never[]>[];
  /** The request's headers that count here. */
  reads?: readonly ParameterName[];
  /** Bodies of the declared schema, by what they show. */
  requests?: Record<string, unknown>;
  /** The body where the declaration leaves reading it to the handler. */
  requestBody?: ZodOpenApiRequestBodyObject;
  responses: Record<number, Told>;
};

/** One success: its headers beside those of every answer, and bodies of the declared schema by what they show. */
type Told = {
  description: string;
  headers?: readonly HeaderName[];
  examples?: Record<string, unknown>;
  /** The body where the declaration has no schema for it, or not all of them. */
  content?: ZodOpenApiContentObject;
};

export type Declared = Pick<
  AnyEndpoint,
  "summary" | "auth" | "body" | "database" | "errors" | "limit" | "params" | "query" | "reads" | "responses"
>;

/** An operation, from its declaration and what is said beside it. A HEAD has no bodies. */
export function describeOperation(
  verb: string,
  tag: string,
  declaration: Declared,
  details: OperationDetails,
): ZodOpenApiOperationObject {
  const { summary, params, query, auth } = declaration;
  const { operationId, description, deprecated, reads = [] } = details;
  const requestBody = details.requestBody ?? jsonBody(declaration, details);
  const responses = union(successes(declaration, details), describeProblems(errorsOf(declaration, verb)));
  return {
    operationId,
    summary,
    description,
    tags: [tag],
    ...(deprecated ? { deprecated } : {}),
    security: details.security ?? (auth === "account" ? [{ bearer: [] }, { cookie: [] }] : []),
    ...(reads.length > 0 ? { parameters: reads.map(parameter) } : {}),
    ...(params || query ? { requestParams: paramsOf(params, query) } : {}),
    ...(requestBody ? { requestBody } : {}),
    responses: verb === "HEAD" ? withoutBodies(responses) : responses,
  };
}

function paramsOf(path: Declared["params"], query: Declared["query"]) {
  return { ...(path instanceof z.ZodObject ? { path } : {}), ...(query ? { query } : {}) };
}

function jsonBody({ body }: Declared, { requests = {} }: OperationDetails): ZodOpenApiRequestBodyObject | null {
  if (!(body instanceof z.ZodType)) return null;
  return { required: true, content: { "application/json": { schema: body, examples: examplesOf(requests) } } };
}

function successes({ summary, responses }: Declared, { responses: told }: OperationDetails) {
  const described = Object.entries(responses).map(([status, schema]) => {
    const one = told[Number(status)];
    if (!one) throw new Error(`Nothing is said of ${status} of "${summary}"`);
    const { description, headers, examples = {} } = one;
    const json = schema && { "application/json": { schema, examples: examplesOf(examples) } };
    const content = one.content ?? json;
    return [status, { description, headers: headersOf(headers), ...(content ? { content } : {}) }] as const;
  });
  return Object.fromEntries(described);
}

type Responses = Record<string, ZodOpenApiResponseObject>;

/** A status may come with a body of the route's own, or with a problem. */
function union(own: Responses, problems: Responses): Responses {
  const both = Object.entries(own).flatMap(([status, { description, headers, content }]) => {
    const problem = problems[status];
    if (!problem) return [];
    const described = `${description} Or a problem.`;
    const told = { ...headers, ...problem.headers } as typeof headers;
    return [[status, { description: described, headers: told, content: { ...content, ...problem.content } }]];
  });
  return { ...own, ...problems, ...Object.fromEntries(both) };
}

/** Examples as OpenAPI has them: each under a name, with what it shows. */
export function examplesOf(values: Record<string, unknown>) {
  const named = Object.entries(values).map(([summary, value]) => {
    const name = summary.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
    return [name, { summary, value }] as const;
  });
  return Object.fromEntries(named);
}

/** RFC 9110, 9.3.2. */
function withoutBodies(responses: Responses): Responses {
  const bare = Object.entries(responses).map(([status, { description, headers }]) => [
    status,
    { description, ...(headers ? { headers } : {}) },
  ]);
  return Object.fromEntries(bare);
}
