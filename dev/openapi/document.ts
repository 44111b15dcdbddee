import type { z } from "zod";
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathItemObject,
  type ZodOpenApiPathsObject,
} from "zod-openapi";
import type { DescribedOperation, Operation } from "@/lib/operation";
import { METHODS, type RouteHandler } from "@/lib/platform/http/route";
import { ABOUT, SECURITY_SCHEMES, TAGS, type Tag } from "./about";
import { HEADERS, PARAMETERS, parameter } from "./headers";
import { describeOperation } from "./operation";
import { allowed } from "./problem-responses";
import { DELIVERIES } from "./schemas";
import { describeWebhooks } from "./webhooks";

/** The exports of the `route.ts` files, by their paths as the App Router writes them. */
export type RouteModules = ReadonlyMap<string, Partial<Record<(typeof METHODS)[number], RouteHandler>>>;

type Listed = { path: string; method: string; tag: Tag; operation: DescribedOperation };

/** Describes the API as OpenAPI 3.1: the operations of its routes. @throws Error if one is not described */
export function describeApi(routes: RouteModules) {
  const operations = [...routes].flatMap(([route, module]) => operationsOf(route, module));
  return createDocument(
    {
      openapi: "3.1.0",
      ...ABOUT,
      tags: TAGS.map(([name, description]) => ({ name, description })),
      paths: pathsOf(operations),
      webhooks: describeWebhooks(),
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

/** The operations of a route by method; in the place of a catch-all's, those that it is described as. */
function operationsOf(route: string, module: Partial<Record<(typeof METHODS)[number], RouteHandler>>): Listed[] {
  const declared = METHODS.flatMap((method) => {
    const found = module[method]?.endpoint;
    return found ? [{ method, operation: found as Partial<Operation> }] : [];
  });
  return declared.flatMap(({ method, operation }) => {
    if (route.startsWith("/api/[[")) return []; // what is not found
    if (operation.id === undefined) throw new Error(`${method} ${route} is no operation`);
    const own = operation as Operation;
    if (own.describedAs) return method === "HEAD" ? [] : describedOperations(route, own.describedAs);
    const path = route.replace(/\[(\w+)\]/g, "{$1}");
    const isHead = method === "HEAD" && module.GET?.endpoint === module.HEAD?.endpoint;
    return [{ path, method, tag: tagOf(path), operation: isHead ? headOf(own) : own }];
  });
}

function describedOperations(route: string, described: NonNullable<Operation["describedAs"]>): Listed[] {
  const tag = route.includes("[...nextauth]") ? "Sessions" : tagOf(route);
  return Object.entries(described).flatMap(([place, operation]) => {
    const [method = "", path = ""] = place.split(" ");
    const own = { path, method, tag, operation };
    return method === "GET" ? [own, { ...own, method: "HEAD", operation: headOf(operation) }] : [own];
  });
}

/** HEAD is GET without the body. */
function headOf(operation: DescribedOperation): DescribedOperation {
  const name = operation.id.replace(/^./, (first) => first.toUpperCase());
  return { ...operation, id: `head${name}`, description: "Returns the status and headers of GET without the body." };
}

function pathsOf(operations: readonly Listed[]): ZodOpenApiPathsObject {
  const paths = [...new Set(operations.map(({ path }) => path))].sort();
  const described = paths.map((path): [string, ZodOpenApiPathItemObject] => {
    const own = operations.filter((operation) => operation.path === path);
    const methods = own.map(({ method, tag, operation }): [string, ZodOpenApiOperationObject] => [
      method.toLowerCase(),
      describeOperation(method, tag, operation),
    ]);
    const options = own.some(({ method }) => method === "OPTIONS") ? {} : { options: describeOptions(path, own) };
    return [path, { parameters: [parameter("RequestId")], ...Object.fromEntries(methods), ...options }];
  });
  return Object.fromEntries(described);
}

function describeOptions(path: string, [first]: Listed[]): ZodOpenApiOperationObject {
  const words = path.replace(/[^A-Za-z]+(.)?/g, (_, letter: string | undefined) => letter?.toUpperCase() ?? "");
  const params = first?.operation.params as z.ZodObject | undefined;
  return {
    operationId: `options${words}`,
    summary: "List the supported methods",
    description: "Also responds to CORS preflights from the origins in `CORS_ALLOWED_ORIGINS`.",
    tags: first ? [first.tag] : [],
    security: [],
    ...(params ? { requestParams: { path: params } } : {}),
    responses: { 204: { $ref: "#/components/responses/Allowed" } },
  };
}

function tagOf(path: string): Tag {
  const tags: Record<string, Tag> = { auth: "Accounts", subscription: "Billing", push: "Push", admin: "Admin" };
  return path.includes("/oauth") ? "OAuth" : (tags[path.split("/")[2] ?? ""] ?? "Core");
}

/** Dates are sent as text. The format of a UUID or a date makes its pattern redundant. */
function asSent({ jsonSchema, zodSchema }: { jsonSchema: Record<string, unknown>; zodSchema: z.core.$ZodTypes }) {
  if (zodSchema._zod.def.type === "date") Object.assign(jsonSchema, { type: "string", format: "date-time" });
  if (jsonSchema.format === "uuid" || jsonSchema.format === "date-time") delete jsonSchema.pattern;
  if (canOmitDiscriminator(zodSchema)) {
    Object.assign(jsonSchema, { anyOf: jsonSchema.oneOf });
    delete jsonSchema.oneOf;
    delete jsonSchema.discriminator;
  }
}

/** OpenAPI requires the property of a `discriminator` (3.1.1, section 4.8.25). */
function canOmitDiscriminator({ _zod: { def } }: z.core.$ZodTypes): boolean {
  if (def.type !== "union" || !("discriminator" in def)) return false;
  const name = String(def.discriminator);
  return def.options.some((option) => option._zod.propValues?.[name]?.has(undefined));
}
