import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { assertNoArguments, runCommandLine } from "../../scripts/command-line";
import { describeApi, type RouteModules } from "./document";

const HELP = `Usage: npm run openapi

Writes public/openapi.json from the operations of the routes in app/api and app/.well-known.`;

async function main(args: string[]): Promise<void> {
  assertNoArguments(args);
  const document = describeApi(await importRoutes());
  await writeFile("public/openapi.json", `${JSON.stringify(document, null, 2)}\n`);
}

/** The folders of app whose routes are described. */
const FOLDERS = ["api", ".well-known"];

/** Returns the exports of all routes in these folders, by their paths as the App Router writes them. */
async function importRoutes(): Promise<RouteModules> {
  const found = FOLDERS.map(async (folder) =>
    (await readdir(`app/${folder}`, { recursive: true })).map((file) => `${folder}/${file}`),
  );
  const files = (await Promise.all(found)).flat().filter((file) => path.basename(file) === "route.ts");
  const modules = files.map(async (file) => {
    const exports = await import(pathToFileURL(path.resolve("app", file)).href);
    return [`/${path.dirname(file)}`, exports] as const;
  });
  return new Map(await Promise.all(modules));
}

await runCommandLine(HELP, main);
