import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { currentContext } from "../../context";
import { defineRoute, endpoint, forEveryMethod } from "../route";
import { createRouteTable, type Handlers, type Responder, type RouteTable } from "./routes";

/** A segment of the App Router's that is no part of the path. */
const GROUP = /\/\([^/]+\)(?=\/)/g;
const NAME = /^(.*)\/(route|page)$/;
/** Next's own pages for what goes wrong; no path leads to them. */
const INTERNAL = /^\/_(not-found|global-error)\//;

/**
 * Reads what answers which path from what `next build` left in `serverDir`, and from the files in `publicDir`, and
 * loads the handlers of the routes. A route that does not load is logged and answers 500, and keeps no other from
 * starting.
 */
export async function loadRoutes(serverDir: string, publicDir: string): Promise<RouteTable> {
  const manifestFile = path.resolve(serverDir, "app-paths-manifest.json");
  const manifest = JSON.parse(await readFile(manifestFile, "utf8")) as Record<string, string>;
  const require = createRequire(manifestFile);
  const responders = new Map<string, Responder>([["/_next/static/[...file]", "file"]]);
  for (const file of await publicFiles(publicDir)) responders.set(`/${file}`, "file");
  for (const [name, file] of Object.entries(manifest)) {
    if (INTERNAL.test(name)) continue;
    const [, place, kind] = NAME.exec(name.replaceAll(GROUP, "")) ?? [];
    const route = place || "/";
    if (kind === "page") responders.set(route, "page");
    if (kind === "route") responders.set(route, await loadHandlers(require, `./${file}`, route));
  }
  return createRouteTable(responders);
}

/** Next 16: a compiled route's module exports `routeModule`, whose `userland` is the route file's exports. */
async function loadHandlers(require: NodeJS.Require, file: string, route: string): Promise<Responder> {
  type Compiled = { routeModule?: { ensureUserland?: () => Promise<void>; userland?: Handlers } };
  try {
    const { routeModule } = (await require(file)) as Compiled;
    await routeModule?.ensureUserland?.();
    if (typeof routeModule?.userland?.GET?.respond === "function") return routeModule.userland;
    return path.extname(route) === "" ? "next" : "file"; // Next makes routes of its metadata files, as of icon.svg
  } catch (error) {
    currentContext().log.error({ err: error, route }, "a route does not load: it will answer 500");
    return failingRoute(route, error);
  }
}

function failingRoute(route: string, error: unknown): Handlers {
  const fail = () => {
    throw error;
  };
  const failing = endpoint({ summary: "A route that does not load", database: false, responses: {}, handle: fail });
  return defineRoute(route, forEveryMethod(failing));
}

async function publicFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
}
