import { randomUUID } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { listTables, summarizeTable } from "@/lib/platform/db/copy";
import { readMoved } from "@/lib/platform/db/embedded/moved-folder";
import type { Embedded } from "@/lib/platform/db/embedded/open";
import type { PrismaClient } from "@/lib/platform/db/generated/client";
import { diffToSchema } from "@/lib/platform/db/migrations";
import { findCapture } from "@/lib/platform/db/move/capture";
import { embeddedSource } from "@/lib/platform/db/move/embedded";
import { type MoveHooks, moveDatabase, type Source } from "@/lib/platform/db/move/move";
import { openServerSource, openServerTarget } from "@/lib/platform/db/move/server";
import { findMove, type MoveTarget } from "@/lib/platform/db/move/target";
import { databaseOf, serverParts } from "@/lib/platform/db/open";
import { postgresAdapter } from "@/lib/platform/db/server/adapter";
import { createMigratedDatabase, openMigratedEmbedded, postgresUrl } from "@/tests/support/database";

const HOOKS: MoveHooks = { onProgress: () => {}, signal: new AbortController().signal, beforePause: async () => {} };

let folder: string;
let from: Embedded;
let into: Embedded;
let db: PrismaClient;
let source: Source;
let target: MoveTarget;

/** Opens a database and an empty one, which the tests of a block share. */
async function openPair() {
  folder = await mkdtemp(path.join(tmpdir(), "homeport-move-"));
  from = await openMigratedEmbedded(folder);
  into = await openMigratedEmbedded(await mkdtemp(path.join(tmpdir(), "homeport-move-")));
  db = databaseOf(from.adapter, from, true).client;
  source = embeddedSource(folder, from);
  const isUnfinished = async () => (await findMove(into.copySession)) !== null;
  target = {
    name: "the target",
    session: into.copySession,
    migrate: into.migrate,
    isUnfinished,
    close: async () => {},
  };
  return () => Promise.all([from.close(), into.close()]).then(() => {});
}

/** The source, with something that happens before a table is read. */
const during = (run: (table: string) => Promise<unknown>): Source => ({
  ...source,
  session: {
    ...source.session,
    read: async function* (table) {
      await run(table.name);
      yield* source.session.read(table);
    },
  },
});

/** An account with a row that refers to it. Returns its id. */
async function add(email: string): Promise<string> {
  const token = { tokenHash: randomUUID(), expiresAt: new Date() };
  const { id } = await db.account.create({ data: { email, passwordResetToken: { create: token } } });
  return id;
}

const rename = (id: string, email: string) => db.account.update({ where: { id }, data: { email } });

async function swap(one: string, other: string): Promise<void> {
  const [first, second] = await Promise.all(
    [one, other].map((id) => db.account.findUniqueOrThrow({ where: { id }, select: { email: true } })),
  );
  await rename(one, randomUUID());
  await rename(other, first?.email ?? "");
  await rename(one, second?.email ?? "");
}

async function contentsOf({ copySession }: Embedded) {
  const tables = await listTables(copySession);
  return Promise.all(tables.map(async (table) => [table.name, await summarizeTable(copySession, table)]));
}

describe("moving a database", () => {
  beforeAll(openPair);

  test("copies what is written meanwhile, continues after an interruption, and leaves the schema as it was", async () => {
    const [ann, bob, eve] = [await add("ann@example.com"), await add("bob@example.com"), await add("eve@example.com")];
    const interrupted = during(async (table) => {
      if (table === "PasswordResetToken") throw new Error("The connection was lost");
    });
    await expect(moveDatabase(interrupted, target, HOOKS)).rejects.toThrow("The connection was lost");
    expect(await databaseOf(into.adapter, into, false).missingMigrations()).toEqual(["homeport db move"]);
    await swap(ann, bob);

    const busy = during(async (table) => {
      if (table !== "PasswordResetToken") return;
      await db.account.delete({ where: { id: eve } });
      await add("dan@example.com");
      await swap(bob, ann);
    });
    const beforePause = () => add("zoe@example.com");
    const openSnapshot = async () => {
      await swap(ann, bob);
      return source.openSnapshot();
    };
    const moved = await moveDatabase({ ...busy, openSnapshot }, target, { ...HOOKS, beforePause });
    expect(moved.resumedTables).toBeGreaterThan(3);
    const contents = await contentsOf(from);
    expect(contents).toContainEqual(["Account", expect.objectContaining({ rows: 4 })]);
    expect(await contentsOf(into)).toEqual(contents);
    expect(await diffToSchema(into.adapter)).toBe("");

    await expect(add("too-late@example.com")).rejects.toMatchObject({ message: expect.stringContaining("read-only") });
    expect(await readMoved(folder)).toMatchObject({ to: "the target" });
  });
});

test.runIf(postgresUrl)("a PostgreSQL database is used as before if the end of its move fails", async () => {
  const url = await createMigratedDatabase();
  const opened = await openServerSource(url);
  onTestFinished(opened.close);
  const to = await openServerTarget(await createMigratedDatabase());
  const instance = databaseOf(
    postgresAdapter(url, 1, () => {}),
    serverParts(url),
    true,
  );
  onTestFinished(instance.close);
  const setting = () => instance.client.$queryRaw`SHOW default_transaction_read_only`;
  const exec = async (script: string) => {
    if (!script.startsWith("DROP SCHEMA")) return to.session.exec(script);
    const isOn = [{ default_transaction_read_only: "on" }];
    await vi.waitFor(async () => expect(await setting()).toEqual(isOn), { timeout: 20_000 }); // it has connected again
    throw new Error("The connection was lost");
  };
  const failing = { ...to, session: { ...to.session, exec } };
  await expect(moveDatabase(opened, failing, HOOKS)).rejects.toThrow("The connection was lost");
  await vi.waitFor(() => instance.client.usedIdToken.deleteMany(), { timeout: 20_000 });
});

describe("a move that fails", () => {
  beforeAll(openPair);

  test("refuses a target with rows, and one with the schema of another version", async () => {
    const { session } = target;
    await session.query(`INSERT INTO "UsedIdToken" VALUES ('x', now())`);
    await expect(moveDatabase(source, target, HOOKS)).rejects.toThrow("is not empty: there are rows in UsedIdToken");
    await session.query(`DELETE FROM "UsedIdToken"`);
    await session.query("CREATE TEMPORARY TABLE kept AS SELECT * FROM _prisma_migrations");
    await session.query(
      `UPDATE _prisma_migrations SET migration_name = '9_next' WHERE migration_name LIKE '%baseline'`,
    );
    await expect(moveDatabase(source, target, HOOKS)).rejects.toThrow("another version, a newer one (9_next)");
    await session.query(`DELETE FROM _prisma_migrations WHERE migration_name = '9_next'`);
    await expect(moveDatabase(source, target, HOOKS)).rejects.toThrow("another version, an older one (without");
    await session.query("DELETE FROM _prisma_migrations");
    await session.query("INSERT INTO _prisma_migrations SELECT * FROM kept");
    expect(await findCapture(source.session)).toBeNull();
    await add("ann@example.com"); // the source is in use as before
  });

  test("lets writes continue if the target does not respond for a minute while they wait", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let [isPaused, fail] = [false, (_: Error) => {}];
    const hang = () =>
      new Promise<never>((_, reject) => {
        fail = reject;
        vi.advanceTimersByTime(60_000);
      });
    const silent: MoveTarget = {
      ...target,
      session: { ...target.session, exec: (script) => (isPaused ? hang() : target.session.exec(script)) },
      close: async () => fail(new Error("The connection was closed")),
    };
    const pause: Source["pause"] = async (tables) => {
      isPaused = true;
      return source.pause(tables);
    };
    await expect(moveDatabase({ ...source, pause }, silent, HOOKS)).rejects.toThrow("The connection was closed");
    await add("bob@example.com");
  });

  test("begins anew if the source has forgotten the changes since then", async () => {
    await source.session.exec("DROP SCHEMA homeport_capture CASCADE");
    await db.account.deleteMany();
    expect(await moveDatabase(source, target, HOOKS)).toMatchObject({ resumedTables: 0 });
    expect(await contentsOf(into)).toEqual(await contentsOf(from));
  });
});
