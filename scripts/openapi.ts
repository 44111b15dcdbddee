import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { describeApi, type RouteModule } from "./openapi/document";

/** Writes public/openapi.json anew from the routes: `npm run openapi`. */
const files = (await readdir("app/api", { recursive: true })).filter((file) => path.basename(file) === "route.ts");
const modules = await Promise.all(
  files.sort().map((file) => import(pathToFileURL(path.resolve("app/api", file)).href) as Promise<RouteModule>),
);
await writeFile("public/openapi.json", `${JSON.stringify(describeApi(modules), null, 2)}\n`);
