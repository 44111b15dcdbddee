import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { describeApi, type RouteModules } from "@/dev/openapi/document";

/** By their paths as the App Router writes them. */
const modules = Object.entries(
  import.meta.glob(["/app/api/**/route.ts", "/app/.well-known/**/route.ts"], { eager: true }),
);
const routes = new Map(
  modules.map(([file, exports]) => [file.replace(/^\/app|\/route\.ts$/g, ""), exports]),
) as RouteModules;

test("public/openapi.json is up to date; otherwise run npm run openapi", async () => {
  const committed = JSON.parse(await readFile("public/openapi.json", "utf8"));
  expect(JSON.parse(JSON.stringify(describeApi(routes)))).toEqual(committed);
});

test("a route of the API that is no operation is an error", () => {
  const stray = new Map([...routes, ["/api/stray", routes.get("/api/[[...path]]")]]) as RouteModules;
  expect(() => describeApi(stray)).toThrow("GET /api/stray is no operation");
});

test("every operation has an id of its own", () => {
  const ids = Object.values(describeApi(routes).paths ?? {}).flatMap((path) =>
    Object.values(path).flatMap((one) => (one as { operationId?: string }).operationId ?? []),
  );
  expect(ids.length).toBeGreaterThan(300);
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
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

type Method = { requestBody?: { content: Record<string, { schema?: object }> }; security?: object[] };
const document = describeApi(routes) as unknown as { paths: Record<string, Record<string, Method>> };
const forOperators = Object.entries(document.paths)
  .filter(([path]) => path.startsWith("/api/admin/"))
  .flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => ({ name: `${method.toUpperCase()} ${path}`, ...one })),
  );
const operatorBodies = forOperators.flatMap(({ name, requestBody }) => {
  const schema = requestBody?.content["application/json"]?.schema;
  return schema ? [{ name, schema }] : [];
});

test("operators' routes are open to nobody else", () => {
  const methods = forOperators.filter(({ name }) => /^(GET|HEAD|POST|PUT|PATCH|DELETE) /.test(name));
  expect(methods.length).toBeGreaterThan(80);
  expect(methods.filter(({ security }) => !security?.length)).toEqual([]);
});

// A misspelled field of a change would otherwise mean "all", "no limit" or "not a trial".
test("operators' routes refuse fields that they do not know", () => {
  expect(operatorBodies.length).toBeGreaterThan(30);
  expect(operatorBodies.flatMap(({ name, schema }) => looseObjects(schema, name))).toEqual([]);
});
