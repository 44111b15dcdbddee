import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { assertNoArguments, runCommandLine } from "../command-line";
import { type Descriptions, describeApi, type RouteModules } from "./document";

const HELP = `Usage: npm run openapi

Writes public/openapi.json from the route.ts and openapi.ts files in app/api and app/.well-known.`;

async function main(args: string[]): Promise<void> {
  assertNoArguments(args);
  const document = describeApi(await importAll<RouteModules>("route.ts"), await importAll<Descriptions>("openapi.ts"));
  await writeFile("public/openapi.json", `${JSON.stringify(document, null, 2)}\n`);
}

/** The folders of app whose routes are described. */
const FOLDERS = ["api", ".well-known"];

/** Returns the exports of all files of a name in these folders, by their paths as the App Router writes them. */
async function importAll<Modules extends ReadonlyMap<string, unknown>>(name: string): Promise<Modules> {
  const found = FOLDERS.map(async (folder) =>
    (await readdir(`app/${folder}`, { recursive: true })).map((file) => `${folder}/${file}`),
  );
  const files = (await Promise.all(found)).flat().filter((file) => path.basename(file) === name);
  const modules = files.map(async (file) => {
    const exports = await import(pathToFileURL(path.resolve("app", file)).href);
    return [`/${path.dirname(file)}`, exports] as const;
  });
  return new Map(await Promise.all(modules)) as ReadonlyMap<string, unknown> as Modules;
}

await runCommandLine(HELP, main);
