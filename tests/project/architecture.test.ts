import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";

type Import = { from: string; to: string; typeOnly: boolean };

const ROOT = path.resolve(".");
const files = ["app", "lib", "server.ts", "proxy.ts", "worker.ts", "instrumentation.ts"].flatMap(sources);
const imports = files.flatMap(importsOf);

/** What each room may import, as values; types of the context, the configuration and Prisma's models are free. */
const RULES: Record<string, string[]> = {
  app: [
    "lib/http",
    "lib/audit",
    "lib/auth",
    "lib/accounts",
    "lib/subscriptions",
    "lib/push",
    "lib/releases",
    "lib/errors",
  ],
  proxy: ["lib/http"],
  "lib/http": ["lib/audit", "lib/auth", "lib/context", "lib/errors"],
  "lib/audit": [],
  "lib/auth": ["lib/audit", "lib/errors", "lib/db/batch-load", "lib/db/queue/sql", "lib/push/outbox"],
  "lib/accounts": [
    "lib/audit",
    "lib/auth",
    "lib/db/with-retry",
    "lib/errors",
    "lib/mail",
    "lib/push",
    "lib/subscriptions",
  ],
  "lib/subscriptions": ["lib/errors", "lib/db/batch-load", "lib/db/queue", "lib/db/with-retry", "lib/push/outbox"],
  "lib/push": ["lib/audit", "lib/db/queue", "lib/errors"],
  "lib/releases": ["lib/errors", "lib/files"],
  "lib/admin": [
    "lib/audit",
    "lib/db/with-retry",
    "lib/errors",
    "lib/accounts",
    "lib/auth",
    "lib/push",
    "lib/releases",
    "lib/subscriptions",
    "lib/files",
  ],
  "lib/mail": ["lib/db/queue", "lib/errors"],
  "lib/adapters": ["lib/errors", "lib/files"],
  "lib/db": ["lib/errors", "lib/files"],
  "lib/telemetry": ["lib/errors"],
  "lib/context": [],
  "lib/config": [],
  "lib/errors": [],
  "lib/files": [],
  "lib/secrets": ["lib/files"],
};
/** Files without imports of ours, for every room. */
const LEAVES = ["lib/db/ids", "lib/text"];
const FREE_TYPES = ["lib/content", "lib/context", "lib/config", "lib/db/generated/client"];

describe("the rooms", () => {
  test.each(Object.keys(RULES))("%s imports only what it may", (room) => {
    const allowed = [room, ...LEAVES, ...(RULES[room] ?? [])];
    const inside = (file: string, place: string) => file === place || file.startsWith(`${place}/`);
    const strays = imports
      .filter(({ from, to }) => inside(from, room) && to.startsWith("lib/"))
      .filter(({ to, typeOnly }) => !(typeOnly && FREE_TYPES.includes(to)))
      .filter(({ to }) => !allowed.some((place) => inside(to, place)))
      // The composition root's type names what it is made of.
      .filter(({ typeOnly }) => !(typeOnly && room === "lib/context"));
    expect(strays).toEqual([]);
  });

  test("nothing in lib imports from app, and only lib/auth imports from next", () => {
    const inLib = imports.filter(({ from }) => from.startsWith("lib/"));
    expect(inLib.length).toBeGreaterThan(50);
    expect(inLib.filter(({ to }) => to.startsWith("app/"))).toEqual([]);
    const fromNext = inLib.filter(({ to }) => /^next(-auth)?(\/|$)/.test(to));
    expect(fromNext.length).toBeGreaterThan(0);
    expect(fromNext.filter(({ from }) => !from.startsWith("lib/auth/"))).toEqual([]);
    // Pages alone live inside a request that Next serves.
    const fromHeaders = imports.filter(({ to }) => to === "next/headers");
    expect(fromHeaders.length).toBeGreaterThan(0);
    expect(fromHeaders.filter(({ from }) => !from.startsWith("app/(web)/"))).toEqual([]);
  });

  test("no file reaches itself by its imports", () => {
    const next = groupBy(
      imports.filter(({ typeOnly }) => !typeOnly),
      ({ from }) => from,
    );
    const circles: string[][] = [];
    const visit = (file: string, trail: string[]): void => {
      const at = trail.indexOf(file);
      if (at >= 0) circles.push([...trail.slice(at), file]);
      if (at >= 0 || done.has(file)) return;
      for (const { to } of next.get(file) ?? []) visit(to, [...trail, file]);
      done.add(file);
    };
    const done = new Set<string>();
    for (const file of next.keys()) visit(file, []);
    expect(circles).toEqual([]);
  });
});

describe("the habits", () => {
  test("the environment is read in lib/config.ts alone", () => {
    const readers = files.filter((file) => /process\.env/.test(read(file)));
    expect(readers).toEqual(["lib/config.ts", "proxy.ts", "instrumentation.ts"]);
  });

  test("a route is a declaration: 25 lines at most, and nothing but handlers goes out", () => {
    const routes = files.filter((file) => file.startsWith("app/") && file.endsWith("/route.ts"));
    expect(routes.length).toBeGreaterThanOrEqual(19);
    for (const file of routes) {
      const text = read(file);
      expect({ file, lines: text.trimEnd().split("\n").length <= 25 }).toEqual({ file, lines: true });
      expect({ file, exports: text.match(/^export /gm)?.length }).toEqual({ file, exports: 1 });
    }
  });

  test("files have 250 lines at most, folders 12 files, and names that say what is in them", () => {
    const long = files.filter((file) => read(file).split("\n").length > 251);
    expect(long).toEqual([]);
    const folders = groupBy(files, (file) => path.dirname(file));
    expect([...folders].filter(([, inside]) => inside.length > 12).map(([folder]) => folder)).toEqual([]);
    expect(files.filter((file) => /\/(utils?|helpers?|common|misc|index)\.tsx?$/.test(file))).toEqual([]);
  });

  test("tests mock no module, and skip nothing", () => {
    const tests = sources("tests").filter((file) => file !== "tests/project/architecture.test.ts");
    expect(tests.length).toBeGreaterThan(10);
    const banned = /\bvi\.(mock|doMock|hoisted)\(|\b(test|describe|it)\.(only|skip|todo)\(|toMatch(Inline)?Snapshot/;
    expect(tests.filter((file) => banned.test(read(file)))).toEqual([]);
  });
});

function groupBy<T>(items: T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return groups;
}

function sources(place: string): string[] {
  if (place.endsWith(".ts")) return [place];
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => !file.includes("/generated/"))
    .sort();
}

function importsOf(from: string): Import[] {
  const found = read(from).matchAll(/^(?:import|export) (type )?([^;]*?from )?"([^"]+)";|\bimport\("([^"]+)"\)/gm);
  return [...found].map(([, type, names, fixed, dynamic]) => {
    const onlyTypes = /^\{(\s*type [^,}]+,?)+\s*\} from $/.test(names ?? "");
    return { from: bare(from), to: resolve(from, fixed ?? dynamic ?? ""), typeOnly: type !== undefined || onlyTypes };
  });
}

function resolve(from: string, to: string): string {
  if (to.startsWith("@/")) return bare(to.slice(2));
  return to.startsWith(".") ? bare(path.relative(ROOT, path.resolve(path.dirname(from), to))) : to;
}

function bare(file: string): string {
  return file.replace(/\.tsx?$/, "");
}

function read(file: string): string {
  return readFileSync(file, "utf8");
}
