import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { embeddedAdapter } from "../lib/db/embedded";
import { applyMigrations, diffToSchema } from "../lib/db/migrations";

/** Writes the next migration: what takes the migrations so far to `schema.prisma`. */
const name = process.argv[2];
if (!name || !/^[a-z0-9_]+$/.test(name)) {
  console.error("Usage: npm run db:diff -- NAME   (lower-case letters, digits and underscores)");
  process.exit(2);
}
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
