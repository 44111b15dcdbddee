import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { embeddedAdapter } from "../lib/platform/db/embedded/adapter";
import { applyMigrations, diffToSchema } from "../lib/platform/db/migrations";
import { runCommandLine, UsageError } from "../scripts/command-line";

const HELP = `Usage: npm run db:diff -- NAME

Writes a migration to prisma/migrations/TIME_NAME, with the SQL that changes the schema of the existing migrations to
prisma/schema.prisma. NAME describes the migration in lower-case letters, digits and underscores.`;

async function main([name = "", ...rest]: string[]): Promise<void> {
  if (!/^[a-z0-9_]+$/.test(name) || rest.length > 0)
    throw new UsageError("NAME is lower-case letters, digits and underscores.");
  const pglite = await PGlite.create();
  const adapter = await embeddedAdapter(pglite);
  await applyMigrations(adapter);
  const sql = await diffToSchema(adapter);
  await pglite.close();
  if (sql === "") {
    console.log("The migrations match schema.prisma. No migration was written.");
  } else {
    const stamp = new Date().toISOString().replace(/\D/g, "").slice(0, 14);
    const folder = path.join("prisma/migrations", `${stamp}_${name}`);
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, "migration.sql"), `${sql}\n`);
    console.log(`Wrote ${folder}/migration.sql. Read it before you commit it.`);
  }
}

runCommandLine(HELP, main);
