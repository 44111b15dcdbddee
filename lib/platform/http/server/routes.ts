import { readdirSync } from "node:fs";
import path from "node:path";
import { decodePercent } from "../cookies";
import type { RouteContext, RouteHandler } from "../route";

export type Handlers = Record<string, RouteHandler>;

/**
 * What responds to a path: a route's handlers; a page, which Next renders, a static one once for everybody; or a file,
 * which Next sends.
 */
export type Responder = Handlers | "page" | "static page" | "file";

type Entry = { path: string; responder: Responder };
type Pattern = Entry & { pattern: RegExp; names: string[] };
export type RouteMatch = Entry & { params: RouteContext["params"] };
export type RouteTable = {
  /** By path, without parameters. */
  fixed: ReadonlyMap<string, RouteMatch>;
  /** The most specific first. */
  patterns: readonly Pattern[];
  /** The route of each file, by its decoded path. */
  files: ReadonlyMap<string, string>;
};

/** A table for `findRoute`. The paths of responders are written as in the App Router, those of files are decoded. */
export function createRouteTable(
  responders: ReadonlyMap<string, Responder>,
  files: ReadonlyMap<string, string> = new Map(),
): RouteTable {
  const entries = [...responders].map(([path, responder]) => ({ path, responder }));
  const isFixed = ({ path }: Entry) => !path.includes("[");
  const fixed = new Map(entries.filter(isFixed).map((entry) => [entry.path, { ...entry, params: undefined }]));
  const patterns = entries.filter((entry) => !isFixed(entry)).map((entry) => ({ ...entry, ...compile(entry.path) }));
  return { fixed, patterns: patterns.sort((a, b) => (a.rank < b.rank ? -1 : 1)), files };
}

/** The route of a path, by the App Router's rules, with its parameters. */
export function findRoute({ fixed, patterns, files }: RouteTable, pathname: string): RouteMatch | null {
  const entry = fixed.get(pathname);
  if (entry) return entry;
  const file = files.get(decodePercent(pathname));
  if (file) return { path: file, responder: "file", params: undefined };
  for (const { path, responder, pattern, names } of patterns) {
    const match = pattern.exec(pathname);
    if (match)
      return { path, responder, params: Object.fromEntries(names.map((name, i) => param(name, match[i + 1]))) };
  }
  return null;
}

function param(name: string, value = ""): [string, string | string[]] {
  return name.startsWith("...")
    ? [name.slice(3), value.split("/").filter(Boolean).map(decodePercent)]
    : [name, decodePercent(value)];
}

/** App Router's precedence: a fixed segment before `[one]` before `[...rest]` before `[[...rest]]`. */
function compile(route: string): { pattern: RegExp; names: string[]; rank: string } {
  const names: string[] = [];
  const ranks: string[] = [];
  const source = route
    .split("/")
    .slice(1)
    .map((segment) => {
      const [, optional, rest, name] = /^(\[)?\[(\.\.\.)?([^[\]]+)\]\]?$/.exec(segment) ?? [];
      ranks.push(name === undefined ? `0${segment}` : rest === undefined ? "1" : optional === undefined ? "2" : "3");
      if (name === undefined) return `/${segment.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}`;
      names.push(`${rest ?? ""}${name}`);
      if (rest === undefined) return "/([^/]+)";
      return optional === undefined ? "/(.+)" : "(?:/(.*))?";
    });
  return { pattern: new RegExp(`^${source.join("")}$`), names, rank: ranks.join("/") };
}

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
