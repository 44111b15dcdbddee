import { describe, expect, test } from "vitest";
import { circlesOf, type Import, importsOf, sourceFiles } from "@/tests/support/sources";

const files = ["app", "lib", "scripts", "server.ts", "proxy.ts", "worker.ts", "instrumentation.ts"].flatMap(
  sourceFiles,
);
const imports = files.flatMap(importsOf);
const ours = imports.filter(({ to }) => /^(app|lib|scripts|server|proxy|worker)(\/|$)/.test(to));

/** What every room may import: types of the whole service, and files without a room of their own. */
const EVERYWHERE = [
  ...["lib/attachment", "lib/config", "lib/context", "lib/errors", "lib/locale", "lib/response-content"],
  ...["lib/lists", "lib/storable-text", "lib/storable-time"],
  ...["lib/db/generated/client", "lib/db/ids", "lib/db/remove-in-batches", "lib/db/sql", "lib/db/transaction"],
];

/** What a room may import besides, types included. `compose` and `background` put the rooms together. */
const ROOMS: Record<string, string[]> = {
  app: [
    ...["lib/http", "lib/auth", "lib/audit", "lib/accounts", "lib/subscriptions", "lib/push", "lib/releases"],
    ...["lib/admin", "lib/brand"],
  ],
  proxy: ["lib/http"],
  "lib/brand": [],
  "lib/backup": ["lib/adapters", "lib/db", "lib/files", "lib/secrets"],
  "lib/http": ["lib/audit", "lib/auth", "lib/backup/schedule", "lib/brand", "lib/rate-limits"],
  "lib/audit": [],
  "lib/auth": [
    "lib/audit",
    "lib/db/batch-load",
    "lib/db/queue",
    "lib/db/with-retry",
    "lib/push/outbox/enqueue",
    "lib/webhooks/events",
  ],
  "lib/accounts": [
    "lib/audit",
    "lib/auth",
    "lib/mail",
    "lib/push",
    "lib/subscriptions",
    "lib/db/with-retry",
    "lib/webhooks",
  ],
  "lib/subscriptions": [
    ...["lib/db/batch-load", "lib/db/batch-write", "lib/db/queue", "lib/db/with-retry", "lib/push/outbox/enqueue"],
    ...["lib/auth/keys", "lib/webhooks"],
  ],
  "lib/push": ["lib/audit", "lib/db/batch-load", "lib/db/batch-write", "lib/db/queue", "lib/webhooks/events"],
  "lib/releases": ["lib/files"],
  "lib/admin": [
    ...["lib/accounts", "lib/auth", "lib/push", "lib/subscriptions", "lib/releases"],
    ...["lib/audit", "lib/backup", "lib/db/move", "lib/db/with-retry", "lib/files", "lib/mail", "lib/secrets"],
    "lib/statistics",
    "lib/webhooks",
  ],
  "lib/webhooks": ["lib/db/queue", "lib/outbound"],
  "lib/outbound": [],
  "lib/mail": ["lib/brand", "lib/db/queue"],
  "lib/adapters": ["lib/files", "lib/mail/emails", "lib/outbound"],
  "lib/context": [
    "lib/adapters",
    "lib/db/open",
    "lib/db/queue/consumer",
    "lib/mail",
    "lib/rate-limits",
    "lib/releases/adoption",
    "lib/releases/catalog",
    "lib/releases/rollouts",
    "lib/webhooks",
  ],
  "lib/db": ["lib/files"],
  "lib/rate-limits": ["lib/db/batch-write"],
  "lib/statistics": [],
  "lib/telemetry": [],
  "lib/cluster": ["lib/telemetry"],
  "lib/files": [],
  "lib/lists": [],
  "lib/secrets": ["lib/files"],
};

const isInside = (file: string, place: string) => file === place || file.startsWith(`${place}/`);
/** The descriptions beside the routes are part of the generator in scripts/openapi; the service does not load them. */
const isDescription = (file: string) => /^app\/(?:api|\.well-known)\/.*\/openapi(-\w+)?$/.test(file);
const roomOf = (file: string) =>
  isDescription(file) ? "scripts" : file.split("/", file.startsWith("lib/") ? 2 : 1).join("/");

describe("imports", () => {
  test.each(Object.entries(ROOMS))("of %s are those that it may have, types included", (room, others) => {
    const allowed = [room, ...EVERYWHERE, ...others];
    const strays = ours.filter(({ from, to }) => isInside(from, room) && !allowed.some((place) => isInside(to, place)));
    expect(strays.filter(({ from }) => !isDescription(from))).toEqual([]);
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

  test("of the OpenAPI descriptions are in other descriptions alone", () => {
    const ofDescriptions = ours.filter(({ to }) => isDescription(to));
    expect(ofDescriptions.length).toBeGreaterThan(0);
    expect(ofDescriptions.filter(({ from }) => !isDescription(from))).toEqual([]);
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
