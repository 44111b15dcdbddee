import { z } from "zod";
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
} from "zod-openapi";
import type { AnyEndpoint, RouteHandler } from "@/lib/http/route";
import { ERRORS, type ErrorCode } from "../../lib/errors";
import { errorsOf, Problem, problemExample } from "./problems";

/** A route file's exports, by method. */
export type RouteModule = Record<string, RouteHandler>;

/** What is described; HEAD and OPTIONS go without saying. */
const VERBS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

const TAGS = [
  ["Core", "Health, versions, update feeds and downloads"],
  ["Accounts", "Registering, signing in, resetting, deleting and exporting"],
  ["Billing", "The subscription's status and the billing provider's deliveries"],
  ["Push", "Devices that get notifications"],
] as const;

const REQUEST_ID = {
  "X-Request-Id": {
    description: "Names the request in the service's log; an incoming one is echoed",
    schema: { type: "string" as const, example: "3f0c8f5e-6f0a-4a55-9d5a-0b1d3f2e7c11" },
  },
};
const RETRY_AFTER = {
  "Retry-After": { description: "Seconds to wait", schema: { type: "integer" as const, example: 5 } },
};

/** The API as OpenAPI 3.1 describes it, from the declarations that the routes answer by. */
export function describeApi(modules: readonly RouteModule[]) {
  const handlers = modules.flatMap((module) => VERBS.map((verb) => ({ verb, handler: module[verb] })));
  const paths: ZodOpenApiPathsObject = {};
  for (const { verb, handler } of handlers) {
    if (!handler?.declaration || handler.path.includes("[[")) continue;
    const path = handler.path.replace(/\[(?:\.\.\.)?(\w+)\]/g, "{$1}");
    paths[path] = { ...paths[path], [verb.toLowerCase()]: describeOperation(path, verb, handler.declaration) };
  }
  return createDocument(
    {
      openapi: "3.1.0",
      info: {
        title: "Homeport",
        version: "1",
        description:
          "Updates and downloads, accounts, billing and push of a software company's products. JSON in and out. Errors are problem documents (RFC 9457) whose `code` is stable; " +
          "each is explained under [/docs/errors](/docs/errors). HEAD works wherever GET does, OPTIONS everywhere.",
        license: { name: "MIT", identifier: "MIT" },
        contact: { name: "Homeport", url: "https://github.com/homeport/homeport" },
      },
      servers: [{ url: "/" }],
      tags: TAGS.map(([name, description]) => ({ name, description })),
      paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => a.localeCompare(b))),
      components: {
        securitySchemes: {
          bearer: { type: "http", scheme: "bearer", description: "The token of a sign-in with `transport: token`" },
          cookie: { type: "apiKey", in: "cookie", name: "next-auth.session-token", description: "A browser's session" },
        },
      },
    },
    { override: asSent },
  );
}

function describeOperation(path: string, verb: string, declaration: AnyEndpoint): ZodOpenApiOperationObject {
  const { summary, description, params, query, body, auth } = declaration;
  const isObject = body instanceof z.ZodType;
  return {
    operationId: operationId(path, verb),
    summary,
    ...(description ? { description } : {}),
    tags: [tagOf(path)],
    security: auth === "account" ? [{ bearer: [] }, { cookie: [] }] : [],
    requestParams: {
      ...(params instanceof z.ZodObject ? { path: params } : {}),
      ...(query ? { query } : {}),
    },
    ...(isObject ? { requestBody: { required: true, content: { "application/json": { schema: body } } } } : {}),
    responses: { ...successes(declaration), ...problems(errorsOf(declaration, verb)) },
  };
}

function successes({ responses }: AnyEndpoint) {
  const described = Object.entries(responses).map(([status, schema]) => {
    const content = schema ? { content: { "application/json": { schema } } } : {};
    return [status, { description: REASONS[Number(status)] ?? "Done", headers: REQUEST_ID, ...content }];
  });
  return Object.fromEntries(described);
}

const REASONS: Record<number, string> = {
  200: "Done",
  201: "Made",
  202: "Accepted",
  204: "Done, nothing to say",
  206: "The range that was asked for",
  302: "It lies at the address in `Location`",
  304: "The caller's copy is good still",
};

/** One answer a status, with the codes that it may carry. */
function problems(codes: readonly ErrorCode[]): Record<string, ZodOpenApiResponseObject> {
  const statuses = new Set(codes.map((code) => ERRORS[code][0]));
  const described = [...statuses].map((status) => {
    const same = codes.filter((code) => ERRORS[code][0] === status);
    const id = same.map(pascalCase).join("Or");
    const response = sharedProblems.get(id) ?? { id, ...describeProblem(status, same) };
    sharedProblems.set(id, response);
    return [String(status), response] as const;
  });
  return Object.fromEntries(described);
}

/** Operations with the same codes point to one description: a component is told by its object. */
const sharedProblems = new Map<string, ZodOpenApiResponseObject>();

function describeProblem(status: number, codes: readonly ErrorCode[]): ZodOpenApiResponseObject {
  const examples = Object.fromEntries(codes.map((code) => [code, { value: problemExample(code) }]));
  const schema = z.intersection(Problem, z.looseObject({ status: z.literal(status), code: z.enum(codes) }));
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code][1]}`).join("; "),
    headers: { ...REQUEST_ID, ...(status === 429 || status === 503 ? RETRY_AFTER : {}) },
    content: { "application/problem+json": { schema, examples } },
  };
}

/** Times are sent as text. The format alone says enough of a UUID. */
function asSent({ jsonSchema, zodSchema }: { jsonSchema: Record<string, unknown>; zodSchema: z.core.$ZodTypes }) {
  if (zodSchema._zod.def.type === "date") Object.assign(jsonSchema, { type: "string", format: "date-time" });
  if (jsonSchema.format === "uuid") delete jsonSchema.pattern;
}

function tagOf(path: string): string {
  const [, , room] = path.split("/");
  const tags: Record<string, string> = { auth: "Accounts", subscription: "Billing", push: "Push" };
  return tags[room ?? ""] ?? "Core";
}

function pascalCase(text: string): string {
  const words = text.split(/[^A-Za-z]+/).filter(Boolean);
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

function operationId(path: string, verb: string): string {
  return `${verb.toLowerCase()}${pascalCase(path.replace("/api/", ""))}`;
}
