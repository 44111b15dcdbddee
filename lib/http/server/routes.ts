import { decodePercent } from "../../auth/cookie";
import type { RouteContext, RouteHandler } from "../route";

export type Handlers = Record<string, RouteHandler>;

/**
 * What answers a path: a route's handlers, without Next; a page, which Next renders; a file, which Next sends; or a
 * route that Next runs by itself ("next").
 */
export type Responder = Handlers | "page" | "file" | "next";

type Entry = { path: string; responder: Responder };
type Pattern = Entry & { pattern: RegExp; names: string[] };
export type RouteMatch = Entry & { params: RouteContext["params"] };
/** Paths without parameters by name, the others by pattern, the most specific first. */
export type RouteTable = { fixed: ReadonlyMap<string, Entry>; patterns: readonly Pattern[] };

/** Sorts what answers, by paths as the App Router writes them, for `findRoute`. */
export function createRouteTable(responders: ReadonlyMap<string, Responder>): RouteTable {
  const entries = [...responders].map(([path, responder]) => ({ path, responder }));
  const isFixed = ({ path }: Entry) => !path.includes("[");
  const fixed = new Map(entries.filter(isFixed).map((entry) => [entry.path, entry]));
  const patterns = entries.filter((entry) => !isFixed(entry)).map((entry) => ({ ...entry, ...compile(entry.path) }));
  return { fixed, patterns: patterns.sort((a, b) => (a.rank < b.rank ? -1 : 1)) };
}

/** What answers a path, by the App Router's rules, and the parameters in it. */
export function findRoute({ fixed, patterns }: RouteTable, pathname: string): RouteMatch | null {
  const entry = fixed.get(pathname);
  if (entry) return { ...entry, params: undefined };
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
