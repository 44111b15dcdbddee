import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";

// Plain JavaScript, like build and start: the service runs without a loader in between.

const SCHEMA = "prisma/schema.prisma";
const CLIENT = "lib/db/generated/client.ts";

/** Generates Prisma's client where it is missing or older than the schema. */
const fresh = existsSync(CLIENT) && statSync(CLIENT).mtimeMs >= statSync(SCHEMA).mtimeMs;
if (!fresh) {
  const { status } = spawnSync("node_modules/.bin/prisma", ["generate", "--config", "prisma/prisma.config.ts"], {
    stdio: ["ignore", "inherit", "inherit"],
    // The client's generator needs no engine; without this the CLI would download one.
    env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, PRISMA_HIDE_UPDATE_MESSAGE: "1" },
  });
  if (status !== 0) process.exit(status ?? 1);
}
