import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { describeApi, type RouteModules } from "@/scripts/openapi/document";

const modules = import.meta.glob("/app/api/**/route.ts", { eager: true });
const routes = new Map(
  Object.entries(modules).map(([file, exports]) => [file.replace(/^\/app|\/route\.ts$/g, ""), exports]),
) as RouteModules;

test("public/openapi.json is what the routes declare: npm run openapi writes it anew", async () => {
  const committed = JSON.parse(await readFile("public/openapi.json", "utf8"));
  expect(JSON.parse(JSON.stringify(describeApi(routes)))).toEqual(committed);
});

test("a route of which nothing is said is not left out of the description in silence", () => {
  const nameless = new Map([...routes, ["/api/nameless", routes.get("/api/health")]]) as RouteModules;
  expect(() => describeApi(nameless)).toThrow("Nothing is said of GET /api/nameless");
});
