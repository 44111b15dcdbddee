import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { writeApiTypes } from "./build/api-types.mjs";
import { writeReferencePages } from "./build/reference-pages.mjs";
import { writeRouteTable } from "./build/route-table.mjs";

const SCHEMA = "prisma/schema.prisma";
const CLIENT = "lib/platform/db/generated/client.ts";

// Writes what is not in the repository: the table of routes, the types of the API, the pages of its reference as
// Markdown, and Prisma's client if the schema is newer.
writeRouteTable();
await writeApiTypes();
await writeReferencePages();
const isFresh = existsSync(CLIENT) && statSync(CLIENT).mtimeMs >= statSync(SCHEMA).mtimeMs;
if (!isFresh) {
  const { status } = spawnSync("node_modules/.bin/prisma", ["generate", "--config", "prisma/prisma.config.ts"], {
    stdio: ["ignore", "inherit", "inherit"],
    // The client's generator needs no engine; without this the CLI would download one.
    env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, PRISMA_HIDE_UPDATE_MESSAGE: "1" },
  });
  if (status !== 0) process.exit(status ?? 1);
}
