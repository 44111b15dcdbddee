import { describe, expect, test } from "vitest";
import { circlesOf, type Import, importsOf, sourceFiles } from "@/tests/support/sources";

const files = ["app", "lib", "scripts", "server.ts", "proxy.ts", "worker.ts", "instrumentation.ts"].flatMap(
  sourceFiles,
);
const imports = files.flatMap(importsOf);
const ours = imports.filter(({ to }) => /^(app|dev|lib|scripts|tests|server|proxy|worker)(\/|$)/.test(to));

/** Rooms that import no other, apart from messages of lib/platform/field-message and codes of lib/errors. Every room may import them. */
const LEAVES = [
  "lib/errors",
  "lib/platform/content-disposition",
  "lib/platform/config",
  "lib/platform/email",
  "lib/platform/database-errors",
  "lib/platform/field-message",
  "lib/platform/http-message",
  "lib/platform/locale",
  "lib/platform/per-object",
  "lib/platform/response-content",
  "lib/platform/storable",
  "lib/platform/unescape-xml",
];

/** What a service may import besides: the Context type, the types of rows, and functions on a transaction. */
const FOR_SERVICES = [
  "lib/context",
  "lib/platform/find-account",
  "lib/platform/lists",
  "lib/platform/db/generated/client",
  "lib/platform/db/ids",
  "lib/platform/db/remove-in-batches",
  "lib/platform/db/sql",
  "lib/platform/db/transaction",
];

/** What a room may import besides itself and the leaves, types included. The scripts may import every room. */
const ROOMS: Record<string, string[]> = {
  app: [
    "lib/accounts",
    "lib/auth",
    "lib/context",
    "lib/operation",
    "lib/overview",
    "lib/platform/audit",
    "lib/platform/backup",
    "lib/platform/brand",
    "lib/platform/find-account",
    "lib/platform/guides",
    "lib/platform/http",
    "lib/platform/keys",
    "lib/platform/lists",
    "lib/platform/settings",
    "lib/platform/tools",
    "lib/platform/update-check",
    "lib/principal",
    "lib/push",
    "lib/releases",
    "lib/search",
    "lib/subscriptions",
    "lib/webhooks",
  ],
  instrumentation: ["lib/background", "lib/compose", "lib/context"],
  proxy: ["lib/context", "lib/platform/http"],
  server: [
    "app/routes.generated",
    "lib/accounts/first-operator",
    "lib/background",
    "lib/compose",
    "lib/context",
    "lib/platform/files/operator-file",
    "lib/platform/http/server",
    "lib/platform/startup",
    "lib/platform/telemetry/log",
  ],
  worker: ["lib/compose", "lib/platform/startup"],
  "lib/accounts": [
    ...FOR_SERVICES,
    "lib/auth",
    "lib/operation",
    "lib/platform/audit",
    "lib/platform/db/clock",
    "lib/platform/http",
    "lib/platform/keys",
    "lib/platform/mail",
    "lib/platform/webhook-signatures",
    "lib/principal",
    "lib/push",
    "lib/subscriptions",
    "lib/webhooks",
  ],
  "lib/auth": [
    ...FOR_SERVICES,
    "lib/operation",
    "lib/platform/audit",
    "lib/platform/db/batch-load",
    "lib/platform/db/queue",
    "lib/platform/http",
    "lib/platform/keys",
    "lib/platform/limits",
    "lib/platform/outbound",
    "lib/principal",
    "lib/push/outbox/enqueue",
    "lib/webhooks/events",
  ],
  // Starts the periodic tasks of every room.
  "lib/background": [
    "lib/accounts/emails",
    "lib/auth/remove-expired-rows",
    "lib/context",
    "lib/platform/adapters/file-transports",
    "lib/platform/audit/operator-events",
    "lib/platform/audit/retention",
    "lib/platform/backup/schedule",
    "lib/platform/startup",
    "lib/platform/statistics",
    "lib/platform/update-check",
    "lib/push/devices",
    "lib/push/evidence",
    "lib/releases/adoption",
    "lib/releases/rollouts",
    "lib/releases/uploads",
    "lib/subscriptions/grants",
    "lib/subscriptions/inbox",
    "lib/subscriptions/notifications",
    "lib/subscriptions/reconcile",
  ],
  // Creates what the Context type names.
  "lib/compose": [
    "lib/accounts",
    "lib/auth",
    "lib/context",
    "lib/platform/adapters",
    "lib/platform/db/clock",
    "lib/platform/db/embedded",
    "lib/platform/db/open",
    "lib/platform/db/transaction",
    "lib/platform/embedded-secrets",
    "lib/platform/files/no-space",
    "lib/platform/http",
    "lib/platform/keys",
    "lib/platform/mail",
    "lib/platform/outbound",
    "lib/platform/rate-limits",
    "lib/platform/startup",
    "lib/platform/telemetry",
    "lib/push",
    "lib/releases",
    "lib/subscriptions",
    "lib/webhooks",
  ],
  "lib/context": [
    "lib/platform/adapters/app-attest-api",
    "lib/platform/adapters/billing-sources",
    "lib/platform/adapters/breach-lookup",
    "lib/platform/adapters/mailers",
    "lib/platform/adapters/push-transport",
    "lib/platform/adapters/s3",
    "lib/platform/db/generated/client",
    "lib/platform/db/open",
    "lib/platform/db/queue",
    "lib/platform/db/transaction",
    "lib/platform/mail/emails",
    "lib/platform/mail/queue",
    "lib/platform/rate-limits",
    "lib/principal",
  ],
  "lib/operation": ["lib/context", "lib/platform/db/generated/client", "lib/platform/rate-limits", "lib/principal"],
  "lib/overview": ["lib/context", "lib/platform/lists", "lib/platform/statistics", "lib/push", "lib/releases"],
  // Emails are sent as lib/platform/mail composes them, and a URL that others give is checked.
  "lib/platform/adapters": ["lib/platform/files", "lib/platform/json", "lib/platform/mail", "lib/platform/outbound"],
  "lib/platform/audit": [...FOR_SERVICES, "lib/operation", "lib/principal"],
  "lib/platform/backup": [
    "lib/context",
    "lib/operation",
    "lib/platform/adapters",
    "lib/platform/audit",
    "lib/platform/db/copy",
    "lib/platform/db/embedded",
    "lib/platform/db/ids",
    "lib/platform/db/migrations",
    "lib/platform/db/move",
    "lib/platform/db/server",
    "lib/platform/embedded-secrets",
    "lib/platform/files",
    "lib/platform/json",
    "lib/principal",
  ],
  "lib/platform/brand": [],
  "lib/platform/db": ["lib/platform/files"],
  "lib/platform/embedded-secrets": ["lib/platform/files"],
  "lib/platform/files": [],
  "lib/platform/find-account": ["lib/context", "lib/platform/db/ids"],
  "lib/platform/guides": [],
  // The health check reads the state of the last backup.
  "lib/platform/http": [
    ...FOR_SERVICES,
    "lib/operation",
    "lib/platform/audit",
    "lib/platform/backup",
    "lib/platform/db/clock",
    "lib/platform/files/no-space",
    "lib/platform/json",
    "lib/platform/keys",
    "lib/platform/precondition",
    "lib/principal",
  ],
  "lib/platform/json": [],
  "lib/platform/keys": ["lib/context", "lib/operation", "lib/platform/audit", "lib/principal"],
  "lib/platform/limits": [],
  "lib/platform/lists": ["lib/platform/db/generated/client", "lib/platform/db/sql", "lib/platform/db/transaction"],
  "lib/platform/mail": [
    "lib/platform/brand",
    "lib/platform/db/generated/client",
    "lib/platform/db/ids",
    "lib/platform/db/queue",
    "lib/platform/db/sql",
    "lib/platform/db/transaction",
  ],
  "lib/platform/outbound": [],
  "lib/platform/precondition": [],
  "lib/platform/rate-limits": [
    "lib/platform/db/batch-write",
    "lib/platform/db/generated/client",
    "lib/platform/db/sql",
    "lib/platform/limits",
  ],
  "lib/platform/settings": ["lib/context", "lib/platform/embedded-secrets"],
  // Warns of keys and of a database that the settings do not fit.
  "lib/platform/startup": ["lib/context", "lib/platform/db/time-limits", "lib/platform/keys"],
  "lib/platform/statistics": [...FOR_SERVICES],
  "lib/platform/telemetry": [...FOR_SERVICES, "lib/platform/db/clock"],
  "lib/platform/tools": [],
  "lib/platform/update-check": ["lib/context", "lib/platform/outbound"],
  "lib/platform/webhook-signatures": [],
  "lib/principal": ["lib/platform/db/generated/client"],
  "lib/push": [
    ...FOR_SERVICES,
    "lib/operation",
    "lib/platform/audit",
    "lib/platform/db/batch-load",
    "lib/platform/db/batch-write",
    "lib/platform/db/clock",
    "lib/platform/db/queue",
    "lib/platform/keys",
    "lib/principal",
    "lib/webhooks/events",
  ],
  "lib/releases": [
    ...FOR_SERVICES,
    "lib/auth/publishers/match-claims",
    "lib/auth/publishers/publishers",
    "lib/operation",
    "lib/platform/adapters",
    "lib/platform/audit",
    "lib/platform/db/clock",
    "lib/platform/files",
    "lib/platform/http",
    "lib/platform/outbound",
    "lib/platform/precondition",
    "lib/principal",
    "lib/webhooks/events",
  ],
  "lib/search": [...FOR_SERVICES, "lib/accounts", "lib/auth", "lib/operation", "lib/releases", "lib/subscriptions"],
  "lib/subscriptions": [
    ...FOR_SERVICES,
    "lib/operation",
    "lib/platform/audit",
    "lib/platform/db/batch-load",
    "lib/platform/db/batch-write",
    "lib/platform/db/clock",
    "lib/platform/db/queue",
    "lib/platform/http",
    "lib/platform/json",
    "lib/platform/keys",
    "lib/platform/statistics",
    "lib/platform/webhook-signatures",
    "lib/principal",
    "lib/push/outbox/enqueue",
    "lib/webhooks/events",
    "lib/webhooks/outbox",
  ],
  "lib/webhooks": [
    ...FOR_SERVICES,
    "lib/operation",
    "lib/platform/audit",
    "lib/platform/db/clock",
    "lib/platform/db/queue",
    "lib/platform/http",
    "lib/platform/keys",
    "lib/platform/outbound",
    "lib/platform/precondition",
    "lib/principal",
  ],
};

const isInside = (file: string, place: string) => file === place || file.startsWith(`${place}/`);
const roomOf = (file: string) =>
  file.split("/", file.startsWith("lib/platform/") ? 3 : file.startsWith("lib/") ? 2 : 1).join("/");

describe("imports", () => {
  test("are limited for every room", () => {
    const rooms = new Set(files.map((file) => roomOf(file.replace(/\.tsx?$/, ""))));
    expect([...Object.keys(ROOMS), ...LEAVES, "scripts"].sort()).toEqual([...rooms].sort());
  });

  test.each([
    ...Object.entries(ROOMS),
    ...LEAVES.map((leaf): [string, string[]] => [
      leaf,
      leaf === "lib/platform/config" ? ["lib/platform/field-message"] : [],
    ]),
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

  test("of dev and of tests are in none", () => {
    expect(ours.filter(({ to }) => isInside(to, "dev"))).toEqual([]);
    const inDev = sourceFiles("dev").flatMap(importsOf);
    expect([...ours, ...inDev].filter(({ to }) => isInside(to, "tests"))).toEqual([]);
  });

  test("of a route are in another route alone, which is its second path", () => {
    const fromRoutes = ours.filter(({ to }) => /^app\/.*\/route$/.test(to));
    expect(fromRoutes.filter(({ from }) => !from.endsWith("/route"))).toEqual([]);
  });

  test("form no circle between files, types included", () => {
    const others = ["bench", "dev", "tests"].flatMap(sourceFiles).flatMap(importsOf);
    expect(Math.min(ours.length, others.length)).toBeGreaterThan(500);
    expect(circlesOf([...ours, ...others])).toEqual([]);
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
    expect(fromHeaders.filter(({ from }) => !/^app\/(\(web\)|console)\//.test(from))).toEqual([]);
  });
});
