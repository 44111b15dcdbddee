import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { refuseArguments, runCommandLine } from "./command-line";
import { describeApi, type RouteModules } from "./openapi/document";

const HELP = `Usage: npm run openapi

Writes public/openapi.json from the routes.`;

async function main(args: string[]): Promise<void> {
  refuseArguments(args);
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
}

await runCommandLine(HELP, main);
