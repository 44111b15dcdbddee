import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { describeApi, type RouteModules } from "./openapi/document";

/** Writes public/openapi.json anew from the routes: `npm run openapi`. */
const files = (await readdir("app/api", { recursive: true })).filter((file) => path.basename(file) === "route.ts");
const modules: RouteModules = new Map(
  await Promise.all(
    files.map(async (file) => {
      const exports = await import(pathToFileURL(path.resolve("app/api", file)).href);
      return [`/api/${path.dirname(file)}`, exports] as const;
    }),
  ),
);
await writeFile("public/openapi.json", `${JSON.stringify(describeApi(modules), null, 2)}\n`);
