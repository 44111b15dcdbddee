import { writeFile } from "node:fs/promises";
import { responders } from "../../app/routes.generated";
import { assertNoArguments, runCommandLine } from "../command-line";
import { describeApi } from "./document";

const HELP = `Usage: npm run openapi

Writes public/openapi.json from the operations of the routes in app/api and app/.well-known.`;

async function main(args: string[]): Promise<void> {
  assertNoArguments(args);
  const document = describeApi(responders);
  await writeFile("public/openapi.json", `${JSON.stringify(document, null, 2)}\n`);
}

await runCommandLine(HELP, main);
