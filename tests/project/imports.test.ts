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
  "lib/email",
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
    "lib/audit",
    "lib/auth",
    "lib/backup",
    "lib/brand",
    "lib/configuration",
    "lib/context",
    "lib/http",
    "lib/keys",
    "lib/lists",
    "lib/operation",
    "lib/overview",
    "lib/precondition",
    "lib/principal",
    "lib/push",
    "lib/releases",
    "lib/subscriptions",
    "lib/webhooks",
  ],
  instrumentation: ["lib/background", "lib/compose", "lib/context"],
  proxy: ["lib/context", "lib/http"],
  server: [
    "app/routes.generated",
    "lib/accounts/first-operator",
    "lib/background",
    "lib/compose",
    "lib/context",
    "lib/files/operator-file",
    "lib/http/server",
    "lib/startup/message",
    "lib/startup/signals",
    "lib/telemetry/log",
  ],
  worker: ["lib/compose", "lib/startup/signals"],
  "lib/accounts": [
    ...FOR_SERVICES,
    "lib/audit",
    "lib/auth",
    "lib/db/with-retry",
    "lib/mail",
    "lib/operation",
    "lib/principal",
    "lib/push",
    "lib/subscriptions",
    "lib/webhooks",
  ],
  // Emails are sent as lib/mail composes them, and a URL that others give is checked.
  "lib/adapters": ["lib/files", "lib/mail", "lib/outbound"],
  "lib/audit": [...FOR_SERVICES, "lib/operation", "lib/principal"],
  "lib/auth": [
    ...FOR_SERVICES,
    "lib/audit",
    "lib/db/batch-load",
    "lib/db/queue",
    "lib/http",
    "lib/keys",
    "lib/operation",
    "lib/principal",
    "lib/push/outbox/enqueue",
    "lib/webhooks/events",
  ],
  // Starts the periodic tasks of every room.
  "lib/background": [
    "lib/accounts/emails",
    "lib/adapters/file-transports",
    "lib/audit/operator-events",
    "lib/audit/retention",
    "lib/auth/remove-expired-rows",
    "lib/backup/schedule",
    "lib/context",
    "lib/push/devices",
    "lib/releases/adoption",
    "lib/releases/rollouts",
    "lib/releases/uploads",
    "lib/startup/warnings",
    "lib/statistics/update-statistics",
    "lib/subscriptions/inbox",
    "lib/subscriptions/notifications",
    "lib/subscriptions/reconcile",
  ],
  "lib/backup": [
    "lib/adapters",
    "lib/audit",
    "lib/context",
    "lib/db/copy",
    "lib/db/embedded",
    "lib/db/ids",
    "lib/db/migrations",
    "lib/db/move",
    "lib/db/server",
    "lib/embedded-secrets",
    "lib/files",
    "lib/operation",
    "lib/principal",
  ],
  "lib/brand": [],
  // Creates what the Context type names.
  "lib/compose": [
    "lib/accounts",
    "lib/adapters",
    "lib/auth",
    "lib/context",
    "lib/db/clock",
    "lib/db/embedded",
    "lib/db/open",
    "lib/db/transaction",
    "lib/embedded-secrets",
    "lib/http",
    "lib/keys",
    "lib/mail",
    "lib/push",
    "lib/rate-limits",
    "lib/releases",
    "lib/startup",
    "lib/subscriptions",
    "lib/telemetry",
    "lib/webhooks",
  ],
  "lib/configuration": ["lib/context", "lib/embedded-secrets"],
  "lib/context": [
    "lib/adapters/billing-api",
    "lib/adapters/breach-lookup",
    "lib/adapters/mail",
    "lib/adapters/object-storage",
    "lib/adapters/push-transport",
    "lib/db/generated/client",
    "lib/db/open",
    "lib/db/queue",
    "lib/db/transaction",
    "lib/mail/emails",
    "lib/mail/queue",
    "lib/principal",
    "lib/rate-limits",
  ],
  "lib/db": ["lib/files"],
  "lib/embedded-secrets": ["lib/files"],
  "lib/files": [],
  // The health check reads the state of the last backup.
  "lib/http": [
    ...FOR_SERVICES,
    "lib/audit",
    "lib/backup",
    "lib/keys",
    "lib/operation",
    "lib/precondition",
    "lib/principal",
  ],
  "lib/keys": ["lib/context", "lib/db/sql", "lib/operation"],
  "lib/lists": [...FOR_SERVICES],
  "lib/mail": [
    "lib/brand",
    "lib/db/generated/client",
    "lib/db/ids",
    "lib/db/queue",
    "lib/db/sql",
    "lib/db/transaction",
  ],
  "lib/operation": ["lib/context", "lib/db/generated/client", "lib/principal", "lib/rate-limits"],
  "lib/outbound": [],
  "lib/overview": ["lib/context", "lib/lists", "lib/push", "lib/releases", "lib/statistics"],
  "lib/precondition": [],
  "lib/principal": ["lib/db/generated/client"],
  "lib/push": [
    ...FOR_SERVICES,
    "lib/audit",
    "lib/db/batch-load",
    "lib/db/batch-write",
    "lib/db/clock",
    "lib/db/queue",
    "lib/operation",
    "lib/principal",
    "lib/webhooks/events",
  ],
  "lib/rate-limits": ["lib/db/batch-write", "lib/db/generated/client", "lib/db/sql"],
  "lib/releases": [
    ...FOR_SERVICES,
    "lib/audit",
    "lib/db/clock",
    "lib/files",
    "lib/http",
    "lib/operation",
    "lib/precondition",
    "lib/principal",
    "lib/webhooks/events",
  ],
  // Warns of keys and of a database that the settings do not fit.
  "lib/startup": ["lib/context", "lib/db/server", "lib/db/time-limits", "lib/keys"],
  "lib/statistics": [...FOR_SERVICES],
  "lib/subscriptions": [
    ...FOR_SERVICES,
    "lib/audit",
    "lib/db/batch-load",
    "lib/db/batch-write",
    "lib/db/queue",
    "lib/db/with-retry",
    "lib/http",
    "lib/keys",
    "lib/operation",
    "lib/principal",
    "lib/push/outbox/enqueue",
    "lib/statistics",
    "lib/webhooks/events",
    "lib/webhooks/outbox",
  ],
  "lib/telemetry": [...FOR_SERVICES],
  "lib/webhooks": [
    ...FOR_SERVICES,
    "lib/audit",
    "lib/db/queue",
    "lib/http",
    "lib/keys",
    "lib/operation",
    "lib/outbound",
    "lib/precondition",
    "lib/principal",
  ],
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
});
