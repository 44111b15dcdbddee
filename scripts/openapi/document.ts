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
import type { NextAuthAction } from "./next-auth";
import { type Declared, describeOperation, METHODS, type Method, type OperationDetails } from "./operation";
import { allowed } from "./problem-responses";
import { DELIVERIES } from "./schemas";

/** The exports of the `route.ts` files, by their paths as the App Router writes them. */
export type RouteModules = ReadonlyMap<string, Partial<Record<Method, RouteHandler>>>;
/** The exports of the `openapi.ts` beside a route: by method, or by next-auth's actions ("GET /api/auth/csrf"). */
type Description = Partial<Record<Method, OperationDetails>> & {
  actions?: Record<string, NextAuthAction>;
  paths?: Record<string, CatchAllPath>;
};
/** One shape of the paths that a catch-all responds to. */
export type CatchAllPath = { params: z.ZodObject; GET: OperationDetails };
export type Descriptions = ReadonlyMap<string, Description>;

type Operation = { path: string; method: string; tag: Tag; declaration: Declared; details: OperationDetails };

/**
 * Describes the API as OpenAPI 3.1: what the routes declare, with the prose and examples of the files beside them.
 * @throws Error if a route is not described, or a description has no route.
 */
export function describeApi(routes: RouteModules, descriptions: Descriptions) {
  const operations = [...routes].flatMap(([route, module]) => operationsOf(route, module, descriptions.get(route)));
  const strays = [...descriptions].flatMap(([route, description]) =>
    METHODS.filter((method) => description[method] && !routes.get(route)?.[method]?.endpoint).map(
      (method) => `${method} ${route}`,
    ),
  );
  if (strays.length > 0) throw new Error(`No route for the descriptions of ${strays.join(", ")}`);
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

/** A catch-all has no path of its own: its paths, or next-auth's actions, are described one by one. */
function operationsOf(
  route: string,
  module: Partial<Record<Method, RouteHandler>>,
  description: Description = {},
): Operation[] {
  if (description.paths) return pathOperations(module, description.paths);
  if (route.includes("[...")) return actionsOf(description.actions ?? {});
  const path = route.replace(/\[(\w+)\]/g, "{$1}");
  return METHODS.flatMap((method) => {
    const declaration = module[method]?.endpoint;
    if (!declaration) return [];
    const details = description[method] ?? (method === "HEAD" && description.GET ? headOf(description.GET) : undefined);
    if (!details) throw new Error(`No description of ${method} ${path}`);
    return [{ path, method, tag: tagOf(path), declaration, details }];
  });
}

function pathOperations(
  module: Partial<Record<Method, RouteHandler>>,
  paths: Record<string, CatchAllPath>,
): Operation[] {
  const declared = module.GET?.endpoint;
  if (!declared) throw new Error("A route with paths needs GET");
  return Object.entries(paths).flatMap(([path, { params, GET }]) => {
    const get = { path, tag: tagOf(path), declaration: { ...declared, params } };
    return [
      { ...get, method: "GET", details: GET },
      { ...get, method: "HEAD", details: headOf(GET) },
    ];
  });
}

function actionsOf(actions: Record<string, NextAuthAction>): Operation[] {
  return Object.entries(actions).flatMap(([name, { declaration, details }]) => {
    const [method = "", path = ""] = name.split(" ");
    const own: Operation = { path, method, tag: "Sessions", declaration, details };
    return method === "GET" ? [own, { ...own, method: "HEAD", details: headOf(details) }] : [own];
  });
}

/** HEAD is GET without the body. */
function headOf(details: OperationDetails): OperationDetails {
  const name = details.operationId.replace(/^./, (first) => first.toUpperCase());
  const description = "Returns the status and headers of GET without the body.";
  return { ...details, operationId: `head${name}`, description };
}

function pathsOf(operations: readonly Operation[]): ZodOpenApiPathsObject {
  const paths = [...new Set(operations.map(({ path }) => path))].sort();
  const described = paths.map((path): [string, ZodOpenApiPathItemObject] => {
    const own = operations.filter((operation) => operation.path === path);
    const methods = own.map(({ method, tag, declaration, details }): [string, ZodOpenApiOperationObject] => [
      method.toLowerCase(),
      describeOperation(method, tag, declaration, details),
    ]);
    const options = own.some(({ method }) => method === "OPTIONS") ? {} : { options: describeOptions(path, own) };
    return [path, { parameters: [parameter("RequestId")], ...Object.fromEntries(methods), ...options }];
  });
  return Object.fromEntries(described);
}

function describeOptions(path: string, [first]: Operation[]): ZodOpenApiOperationObject {
  const words = path.replace(/[^A-Za-z]+(.)?/g, (_, letter: string | undefined) => letter?.toUpperCase() ?? "");
  const params = first?.declaration.params as z.ZodObject | undefined;
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
