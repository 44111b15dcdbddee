import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { type Descriptions, describeApi, type RouteModules } from "@/scripts/openapi/document";

/** By their paths as the App Router writes them. */
const byRoute = (modules: Record<string, unknown>): ReadonlyMap<string, unknown> =>
  new Map(Object.entries(modules).map(([file, exports]) => [file.replace(/^\/app|\/[a-z]+\.ts$/g, ""), exports]));
const routes = byRoute(
  import.meta.glob(["/app/api/**/route.ts", "/app/.well-known/**/route.ts"], { eager: true }),
) as RouteModules;
const descriptions = byRoute(
  import.meta.glob(["/app/api/**/openapi.ts", "/app/.well-known/**/openapi.ts"], { eager: true }),
) as Descriptions;

test("public/openapi.json is up to date; otherwise run npm run openapi", async () => {
  const committed = JSON.parse(await readFile("public/openapi.json", "utf8"));
  expect(JSON.parse(JSON.stringify(describeApi(routes, descriptions)))).toEqual(committed);
});

test("a route without a description is an error", () => {
  const undescribed = new Map([...routes, ["/api/undescribed", routes.get("/api/health")]]) as RouteModules;
  expect(() => describeApi(undescribed, descriptions)).toThrow("No description of GET /api/undescribed");
});

test("a description without a route is an error", () => {
  const stray = new Map([...descriptions, ["/api/stray", descriptions.get("/api/health")]]) as Descriptions;
  expect(() => describeApi(routes, stray)).toThrow("No route for the descriptions of GET /api/stray");
});

type Schema = Partial<Record<"type" | "additionalProperties" | "oneOf" | "anyOf", unknown>>;

/** The paths of the objects in a schema that accept fields that they do not describe. */
function looseObjects(schema: unknown, path: string): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { type, additionalProperties, oneOf, anyOf } = schema as Schema;
  const inside = Object.entries(schema).flatMap(([key, value]) => looseObjects(value, `${path}/${key}`));
  const isUnion = oneOf !== undefined || anyOf !== undefined;
  return type === "object" && !isUnion && additionalProperties === undefined ? [path, ...inside] : inside;
}

type Method = { requestBody?: { content: Record<string, { schema?: object }> } };
const document = describeApi(routes, descriptions) as unknown as { paths: Record<string, Record<string, Method>> };
const operatorBodies = Object.entries(document.paths)
  .filter(([path]) => path.startsWith("/api/admin/"))
  .flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { requestBody }]) => ({ path, method, requestBody })),
  )
  .flatMap(({ path, method, requestBody }) => {
    const schema = requestBody?.content["application/json"]?.schema;
    return schema ? [{ name: `${method.toUpperCase()} ${path}`, schema }] : [];
  });

// A misspelled field of a change would otherwise mean "all", "no limit" or "not a trial".
test("operators' routes refuse fields that they do not know", () => {
  expect(operatorBodies.length).toBeGreaterThan(30);
  expect(operatorBodies.flatMap(({ name, schema }) => looseObjects(schema, name))).toEqual([]);
});
