import { readdirSync } from "node:fs";
import path from "node:path";

const ASSETS = "/_next/static/";

/** The files that Next sends: the decoded URL path of each, and its route in logs and metrics. */
export function listStaticFiles(): ReadonlyMap<string, string> {
  const assets = filesIn(".next/static").map((file) => [ASSETS + file, `${ASSETS}[...file]`] as const);
  const publicFiles = filesIn("public").map((file) => [`/${file}`, `/${file}`] as const);
  return new Map([...assets, ...publicFiles]);
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
}
