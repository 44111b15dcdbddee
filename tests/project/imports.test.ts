import { describe, expect, test } from "vitest";
import { circlesOf, type Import, importsOf, sourceFiles } from "@/tests/support/sources";

const files = ["app", "lib", "scripts", "server.ts", "proxy.ts", "worker.ts", "instrumentation.ts"].flatMap(
  sourceFiles,
);
const imports = files.flatMap(importsOf);
const ours = imports.filter(({ to }) => /^(app|dev|lib|scripts|tests|server|proxy|worker)(\/|$)/.test(to));

/** Rooms that import no other, except that lib/config takes its messages from lib/errors. Every room may import them. */
const LEAVES = [
  "lib/content-disposition",
  "lib/config",
  "lib/errors",
  "lib/http-message",
  "lib/locale",
  "lib/response-content",
  "lib/storable-text",
  "lib/storable-time",
];

/** What a service may import besides: the Context type, the types of rows, and functions on a transaction. */
const FOR_SERVICES = [
  "lib/context",
  "lib/lists",
  "lib/db/generated/client",
  "lib/db/ids",
  "lib/db/remove-in-batches",
  "lib/db/sql",
  "lib/db/transaction",
];

/** What a room may import besides itself and the leaves, types included. The scripts may import every room. */
const ROOMS: Record<string, string[]> = {
  app: [
    "lib/accounts",
    "lib/admin",
    "lib/audit",
    "lib/auth",
    "lib/brand",
    "lib/context",
    "lib/http",
    "lib/lists",
    "lib/push",
    "lib/releases",
    "lib/subscriptions",
    "lib/principal",
    "lib/keys",
    "lib/operation",
    "lib/precondition",
  ],
  server: [
    "app/routes.generated",
    "lib/accounts/first-operator/links",
    "lib/background",
    "lib/compose",
    "lib/context",
    "lib/files/operator-file",
    "lib/http/server",
    "lib/startup",
    "lib/telemetry/log",
  ],
  worker: ["lib/compose", "lib/startup/signals"],
  proxy: ["lib/context", "lib/http"],
  instrumentation: ["lib/background", "lib/compose", "lib/context"],

  "lib/accounts": [
    ...FOR_SERVICES,
    "lib/audit",
    "lib/auth",
    "lib/db/with-retry",
    "lib/mail",
    "lib/push",
    "lib/subscriptions",
    "lib/webhooks",
    "lib/principal",
    "lib/operation",
  ],
  // Emails are sent as lib/mail composes them, and a URL that others give is checked.
  "lib/adapters": ["lib/files", "lib/mail/emails", "lib/outbound"],
  "lib/admin": [
    ...FOR_SERVICES,
    "lib/accounts",
    "lib/audit",
    "lib/auth",
    "lib/backup",
    "lib/db/clock",
    "lib/db/move",
    "lib/db/with-retry",
    "lib/files",
    "lib/push",
    "lib/releases",
    "lib/embedded-secrets",
    "lib/statistics",
    "lib/subscriptions",
    "lib/webhooks",
    "lib/keys",
    "lib/principal",
    "lib/operation",
    "lib/http",
    "lib/precondition",
  ],
  "lib/audit": [...FOR_SERVICES, "lib/principal"],
  "lib/auth": [
    ...FOR_SERVICES,
    "lib/audit",
    "lib/db/batch-load",
    "lib/db/queue",
    "lib/push/outbox/enqueue",
    "lib/webhooks/events",
    "lib/http",
    "lib/keys",
    "lib/principal",
    "lib/operation",
  ],
  // Starts the periodic tasks of every room.
  "lib/background": [
    "lib/accounts/emails",
    "lib/adapters/file-transports",
    "lib/admin/releases/rollouts",
    "lib/audit",
    "lib/auth/remove-expired-rows",
    "lib/backup/schedule",
    "lib/context",
    "lib/push/devices",
    "lib/releases",
    "lib/startup/warnings",
    "lib/statistics",
    "lib/subscriptions",
  ],
  "lib/backup": ["lib/adapters", "lib/context", "lib/db", "lib/files", "lib/embedded-secrets"],
  "lib/brand": [],
  // Creates what the Context type names.
  "lib/compose": [
    "lib/accounts/emails",
    "lib/adapters",
    "lib/auth",
    "lib/context",
    "lib/db",
    "lib/http/client-ip",
    "lib/http/input/idempotency",
    "lib/mail",
    "lib/push",
    "lib/rate-limits",
    "lib/releases",
    "lib/embedded-secrets",
    "lib/startup/warnings",
    "lib/subscriptions",
    "lib/telemetry",
    "lib/webhooks",
    "lib/keys",
  ],
  "lib/context": [
    "lib/adapters",
    "lib/db/generated/client",
    "lib/db/open",
    "lib/db/queue/consumer",
    "lib/db/transaction",
    "lib/mail",
    "lib/rate-limits",
    "lib/principal",
  ],
  "lib/db": ["lib/files"],
  "lib/files": [],
  // The health check reads the state of the last backup.
  "lib/http": [
    ...FOR_SERVICES,
    "lib/audit",
    "lib/backup/schedule",
    "lib/keys",
    "lib/principal",
    "lib/operation",
    "lib/precondition",
  ],
  "lib/lists": FOR_SERVICES,
  "lib/mail": [...FOR_SERVICES, "lib/brand", "lib/db/queue"],
  "lib/outbound": [],
  "lib/push": [
    ...FOR_SERVICES,
    "lib/audit",
    "lib/db/batch-load",
    "lib/db/batch-write",
    "lib/db/queue",
    "lib/webhooks/events",
    "lib/principal",
    "lib/operation",
  ],
  "lib/rate-limits": [...FOR_SERVICES, "lib/db/batch-write"],
  "lib/releases": [...FOR_SERVICES, "lib/files", "lib/operation", "lib/http", "lib/audit"],
  "lib/embedded-secrets": ["lib/files"],
  // Warns of keys and of a database that the settings do not fit.
  "lib/startup": ["lib/keys", "lib/config/web-push", "lib/context", "lib/db"],
  "lib/statistics": FOR_SERVICES,
  "lib/subscriptions": [
    ...FOR_SERVICES,
    "lib/keys",
    "lib/db/batch-load",
    "lib/db/batch-write",
    "lib/db/queue",
    "lib/db/with-retry",
    "lib/push/outbox/enqueue",
    "lib/webhooks",
    "lib/operation",
    "lib/http",
  ],
  "lib/telemetry": FOR_SERVICES,
  "lib/webhooks": [...FOR_SERVICES, "lib/db/queue", "lib/outbound"],
  "lib/keys": [...FOR_SERVICES, "lib/operation"],
  "lib/principal": ["lib/db/generated/client"],
  "lib/operation": [
    "lib/audit/operator-events",
    "lib/context",
    "lib/db/generated/client",
    "lib/principal",
    "lib/rate-limits",
  ],
  "lib/precondition": [],
};

const isInside = (file: string, place: string) => file === place || file.startsWith(`${place}/`);
const roomOf = (file: string) => file.split("/", file.startsWith("lib/") ? 2 : 1).join("/");

describe("imports", () => {
  test("are limited for every room", () => {
    const rooms = new Set(files.map((file) => roomOf(file.replace(/\.tsx?$/, ""))));
    expect([...Object.keys(ROOMS), ...LEAVES, "scripts"].sort()).toEqual([...rooms].sort());
  });

  test.each([
    ...Object.entries(ROOMS),
    ...LEAVES.map((leaf): [string, string[]] => [leaf, leaf === "lib/config" ? ["lib/errors"] : []]),
  ])("of %s are those that it may have, types included", (room, others) => {
    const allowed = LEAVES.includes(room) ? [room, ...others] : [room, ...LEAVES, ...others];
    const strays = ours.filter(
      ({ from, to }) => roomOf(from) === room && !allowed.some((place) => isInside(to, place)),
    );
    expect(strays).toEqual([]);
  });

  test.each(Object.entries(ROOMS))("that %s may have are all used", (room, others) => {
    const targets = ours.filter(({ from }) => roomOf(from) === room).map(({ to }) => to);
    const unused = others.filter(
      (place) => !FOR_SERVICES.includes(place) && !targets.some((to) => isInside(to, place)),
    );
    expect(unused).toEqual([]);
  });

  test("of dev are in the developers' scripts alone, and of tests in none", () => {
    const fromDev = ours.filter(({ to }) => isInside(to, "dev"));
    expect(fromDev.length).toBeGreaterThan(0);
    expect(fromDev.filter(({ from }) => !/^scripts\/(development|openapi)\//.test(from))).toEqual([]);
    const inDev = sourceFiles("dev").flatMap(importsOf);
    expect([...ours, ...inDev].filter(({ to }) => isInside(to, "tests"))).toEqual([]);
  });

  test("of a route are in another route alone, which is its second path", () => {
    const fromRoutes = ours.filter(({ to }) => /^app\/.*\/route$/.test(to));
    expect(fromRoutes.filter(({ from }) => !from.endsWith("/route"))).toEqual([]);
  });

  test("form no circle between files, types included", () => {
    expect(ours.length).toBeGreaterThan(500);
    expect(circlesOf(ours)).toEqual([]);
  });

  test("form no circle between rooms, types included", () => {
    const betweenRooms = ours
      .map(({ from, to }): Import => ({ from: roomOf(from), to: roomOf(to) }))
      .filter(({ from, to }) => from !== to);
    expect(circlesOf(betweenRooms)).toEqual([]);
  });

  test("from app are in no file of lib, and from next in lib/auth alone", () => {
    const inLib = imports.filter(({ from }) => from.startsWith("lib/"));
    expect(inLib.filter(({ to }) => isInside(to, "app"))).toEqual([]);
    const fromNext = inLib.filter(({ to }) => /^next(-auth)?(\/|$)/.test(to));
    expect(fromNext.length).toBeGreaterThan(0);
    expect(fromNext.filter(({ from }) => !from.startsWith("lib/auth/"))).toEqual([]);
    // Pages alone live inside a request that Next serves.
    const fromHeaders = imports.filter(({ to }) => to === "next/headers");
    expect(fromHeaders.length).toBeGreaterThan(0);
    expect(fromHeaders.filter(({ from }) => !/^app\/\((web|console)\)\//.test(from))).toEqual([]);
  });

  test("of lib/admin are in scripts, background tasks, and the pages and routes of operators alone", () => {
    const fromAdmin = ours.filter(({ from, to }) => isInside(to, "lib/admin") && !isInside(from, "lib/admin"));
    expect(
      fromAdmin.filter(
        ({ from }) => !/^(scripts|app\/api\/admin|app\/\(console\)|app\/forms\/console|lib\/background)\//.test(from),
      ),
    ).toEqual([]);
  });
});
