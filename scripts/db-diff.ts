import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { embeddedAdapter } from "../lib/db/embedded/adapter";
import { applyMigrations, diffToSchema } from "../lib/db/migrations";
import { runCommandLine, UsageError } from "./command-line";

const HELP = `Usage: npm run db:diff -- NAME

Writes the migration that takes the database from the migrations so far to prisma/schema.prisma, into
prisma/migrations/TIME_NAME. NAME is lower-case letters, digits and underscores: what the migration does.`;

async function main([name = "", ...rest]: string[]): Promise<void> {
  if (!/^[a-z0-9_]+$/.test(name) || rest.length > 0) throw new UsageError("NAME is missing, or has other characters.");
  const pglite = await PGlite.create();
  const adapter = await embeddedAdapter(pglite);
  await applyMigrations(adapter);
  const sql = await diffToSchema(adapter);
  await pglite.close();
  if (sql === "") {
    console.log("The migrations and schema.prisma agree: nothing to write.");
  } else {
    const stamp = new Date().toISOString().replace(/\D/g, "").slice(0, 14);
    const folder = path.join("prisma/migrations", `${stamp}_${name}`);
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, "migration.sql"), `${sql}\n`);
    console.log(`Wrote ${folder}/migration.sql. Read it before you commit it.`);
  }
}

runCommandLine(HELP, main);
