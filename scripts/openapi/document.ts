import type { z } from "zod";
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathItemObject,
  type ZodOpenApiPathsObject,
} from "zod-openapi";
import type { RouteHandler } from "@/lib/http/route";
import { ABOUT, SECURITY_SCHEMES, TAGS, type Tag } from "./about";
import { HEADERS, PARAMETERS, parameter } from "./headers";
import { type Declared, type Details, describeOperation } from "./operation";
import { ACCOUNTS } from "./operations/accounts";
import { BILLING } from "./operations/billing";
import { CORE } from "./operations/core";
import { NEXT_AUTH } from "./operations/next-auth";
import { PUSH } from "./operations/push";
import { allowed } from "./problems";
import { DELIVERIES } from "./schemas";

/** A route file's exports, by method. */
type RouteModule = Record<string, RouteHandler>;
/** All of them, by their paths as the App Router writes them. */
export type RouteModules = ReadonlyMap<string, RouteModule>;

const VERBS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;
const DETAILS: Record<string, Details> = { ...CORE, ...ACCOUNTS, ...BILLING, ...PUSH };

/** What answers, with what is said of it. */
type Operation = { path: string; verb: string; declaration: Declared; details: Details };

/**
 * The API as OpenAPI 3.1 describes it, from the declarations that the routes answer by.
 * @throws Error where a route and what is said of it do not fit together.
 */
export function describeApi(modules: RouteModules) {
  const operations = [...[...modules].flatMap(operationsOf), ...nextAuthOperations()];
  const names = new Set(operations.map(({ verb, path }) => `${verb} ${path}`));
  const strays = Object.keys(DETAILS).filter((name) => !names.has(name));
  if (strays.length > 0) throw new Error(`Described, but not there: ${strays.join(", ")}`);
  return createDocument(
    {
      openapi: "3.1.0",
      ...ABOUT,
      tags: TAGS.map(([name, description]) => ({ name, description })),
      paths: pathsOf(operations),
      components: {
        headers: HEADERS,
        parameters: PARAMETERS,
        responses: { Allowed: allowed() },
        schemas: DELIVERIES,
        securitySchemes: SECURITY_SCHEMES,
      },
    },
    { override: asSent },
  );
}

/** What a catch-all takes has no path of its own: next-auth's actions are described one by one. */
function operationsOf([route, module]: [string, RouteModule]): Operation[] {
  if (route.includes("[...")) return [];
  return VERBS.flatMap((verb) => {
    const declaration = module[verb]?.endpoint;
    if (!declaration) return [];
    const path = route.replace(/\[(\w+)\]/g, "{$1}");
    const details = DETAILS[`${verb} ${path}`] ?? (verb === "HEAD" ? headOf(DETAILS[`GET ${path}`]) : undefined);
    if (!details) throw new Error(`Nothing is said of ${verb} ${path}`);
    return [{ path, verb, declaration, details }];
  });
}

function nextAuthOperations(): Operation[] {
  return Object.entries(NEXT_AUTH).flatMap(([name, { declaration, details }]) => {
    const [verb = "", path = ""] = name.split(" ");
    const head = verb === "GET" ? headOf(details) : undefined;
    const own = { path, verb, declaration, details };
    return head ? [own, { path, verb: "HEAD", declaration, details: head }] : [own];
  });
}

/** HEAD is GET without the body. */
function headOf(details: Details | undefined): Details | undefined {
  const name = details?.operationId.replace(/^./, (first) => first.toUpperCase());
  return (
    details && {
      ...details,
      operationId: `head${name}`,
      description: "Returns the status and headers of GET without the body.",
    }
  );
}

function pathsOf(operations: readonly Operation[]): ZodOpenApiPathsObject {
  const paths = [...new Set(operations.map(({ path }) => path))].sort();
  const described = paths.map((path): [string, ZodOpenApiPathItemObject] => {
    const tag = tagOf(path);
    const own = operations.filter((operation) => operation.path === path);
    const methods = own.map(({ verb, declaration, details }): [string, ZodOpenApiOperationObject] => [
      verb.toLowerCase(),
      describeOperation(verb, tag, declaration, details),
    ]);
    const options = own.some(({ verb }) => verb === "OPTIONS") ? {} : { options: describeOptions(path, tag, own) };
    return [path, { parameters: [parameter("RequestId")], ...Object.fromEntries(methods), ...options }];
  });
  return Object.fromEntries(described);
}

function describeOptions(path: string, tag: Tag, [first]: Operation[]): ZodOpenApiOperationObject {
  const words = path.replace(/[^A-Za-z]+(.)?/g, (_, letter: string | undefined) => letter?.toUpperCase() ?? "");
  const params = first?.declaration.params as z.ZodObject | undefined;
  return {
    operationId: `options${words}`,
    summary: "List the supported methods",
    description: "Also responds to CORS preflights from the origins in `CORS_ALLOWED_ORIGINS`.",
    tags: [tag],
    security: [],
    ...(params ? { requestParams: { path: params } } : {}),
    responses: { 204: { $ref: "#/components/responses/Allowed" } },
  };
}

function tagOf(path: string): Tag {
  if (Object.keys(NEXT_AUTH).some((name) => name.endsWith(` ${path}`))) return "Sessions";
  const tags: Record<string, Tag> = { auth: "Accounts", subscription: "Billing", push: "Push" };
  return tags[path.split("/")[2] ?? ""] ?? "Core";
}

/** Times are sent as text. The format alone says enough of a UUID. */
function asSent({ jsonSchema, zodSchema }: { jsonSchema: Record<string, unknown>; zodSchema: z.core.$ZodTypes }) {
  if (zodSchema._zod.def.type === "date") Object.assign(jsonSchema, { type: "string", format: "date-time" });
  if (jsonSchema.format === "uuid" || jsonSchema.format === "date-time") delete jsonSchema.pattern;
}
