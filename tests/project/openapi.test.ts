import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { type Descriptions, describeApi, type RouteModules } from "@/scripts/openapi/document";

/** By their paths as the App Router writes them. */
const byRoute = (modules: Record<string, unknown>): ReadonlyMap<string, unknown> =>
  new Map(Object.entries(modules).map(([file, exports]) => [file.replace(/^\/app|\/[a-z]+\.ts$/g, ""), exports]));
const routes = byRoute(import.meta.glob("/app/api/**/route.ts", { eager: true })) as RouteModules;
const descriptions = byRoute(import.meta.glob("/app/api/**/openapi.ts", { eager: true })) as Descriptions;

test("public/openapi.json is what the routes declare: npm run openapi writes it anew", async () => {
  const committed = JSON.parse(await readFile("public/openapi.json", "utf8"));
  expect(JSON.parse(JSON.stringify(describeApi(routes, descriptions)))).toEqual(committed);
});

test("a route of which nothing is said is not left out of the description in silence", () => {
  const nameless = new Map([...routes, ["/api/nameless", routes.get("/api/health")]]) as RouteModules;
  expect(() => describeApi(nameless, descriptions)).toThrow("Nothing is said of GET /api/nameless");
});

test("a description without a route is an error", () => {
  const stray = new Map([...descriptions, ["/api/stray", descriptions.get("/api/health")]]) as Descriptions;
  expect(() => describeApi(routes, stray)).toThrow("Described, but not there: GET /api/stray");
});
