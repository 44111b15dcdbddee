import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const FILE = "app/routes.generated.ts";
/** Folders whose names are not part of the path: groups. */
const GROUP = /^\(.+\)$/;
/** Next's metadata files that are sent as they are. */
const ICON = /^(favicon|icon|apple-icon)\.\w+$/;

/** Writes the table of all routes, pages and icons in app, unless it is up to date. */
export function writeRouteTable() {
  const entries = readdirSync("app", { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entryOf(path.relative("app", entry.parentPath), entry.name))
    .filter((entry) => entry !== null)
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  const routes = entries.filter(({ module }) => module);
  const name = (entry) => (entry.module ? `route${routes.indexOf(entry)}` : `"${entry.kind}"`);
  const text = [
    "// Written by scripts/generate.mjs from the folders of app.",
    'import type { Responder } from "@/lib/platform/http/server/routes";',
    ...routes.map((entry) => `import * as ${name(entry)} from "${entry.module}";`),
    "",
    "export const responders: ReadonlyMap<string, Responder> = new Map<string, Responder>([",
    ...entries.map((entry) => `  ["${entry.path}", ${name(entry)}],`),
    "]);",
    "",
  ].join("\n");
  if (!existsSync(FILE) || readFileSync(FILE, "utf8") !== text) writeFileSync(FILE, text);
}

/** What a file of app responds to; null: nothing. */
function entryOf(folder, name) {
  const segments = folder.split(path.sep).filter((segment) => segment !== "" && !GROUP.test(segment));
  if (segments.some((segment) => segment.startsWith("_"))) return null; // private folders
  const route = `/${segments.join("/")}`;
  if (name === "route.ts") return { path: route, module: `./${path.posix.join(...folder.split(path.sep), "route")}` };
  if (name === "page.tsx")
    return { path: route, kind: isStatic(path.join("app", folder, name)) ? "static page" : "page" };
  if (ICON.test(name)) return { path: path.posix.join(route, name), kind: "file" };
  return null;
}

/** Whether a page says that it has the same content for everybody. */
function isStatic(file) {
  return /^export const isStatic = true;$/m.test(readFileSync(file, "utf8"));
}
