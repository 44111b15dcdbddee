import { randomUUID } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { COMMAND_LINE } from "@/lib/platform/audit/operator-events";
import { cancelMove, readMove, startMove } from "@/lib/platform/backup/move-database";
import type { CopySession } from "@/lib/platform/db/copy";
import { readMoved } from "@/lib/platform/db/embedded/moved-folder";
import type { Embedded } from "@/lib/platform/db/embedded/open";
import { openEmbeddedTarget } from "@/lib/platform/db/move/embedded";
import { openServerTarget } from "@/lib/platform/db/move/server";
import type { MoveTarget } from "@/lib/platform/db/move/target";
import { databaseOf } from "@/lib/platform/db/open";
import type { Operator } from "@/lib/principal";
import { moveEmbedded } from "@/scripts/homeport/commands/db-move-embedded";
import { openServiceHere } from "@/scripts/homeport/service-folder";
import { createAdminApi } from "@/scripts/homeport/transport/admin-api";
import { call, get } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { ctx } from "@/tests/support/context";
import {
  copyEmbeddedDatabase,
  createMigratedDatabase,
  openMigratedEmbedded,
  postgresUrl,
} from "@/tests/support/database";

const MOVE = "/api/admin/database/move";
const OPERATOR: Operator = { actor: `operator:${randomUUID()}`, accountId: null, source: COMMAND_LINE };
const LEASE_MS = 20_000;
const newDataDir = () => mkdtemp(path.join(tmpdir(), "homeport-move-"));
const TO = { to: "postgres://homeport:secret@127.0.0.1:1/homeport" };

test("nobody but the operator at the service's machine may move the database, or see how far it is", async () => {
  expect((await get(MOVE)).status).toBe(401);
  const { token } = await accountWithRole("admin");
  for (const response of [
    await get(MOVE, { token }),
    await call("POST", MOVE, { token, json: TO }),
    await call("DELETE", MOVE, { token }),
  ]) {
    expect([response.status, await response.json()]).toEqual([403, expect.objectContaining({ code: "forbidden" })]);
  }
});

describe("the move of a service", () => {
  const operator = OPERATOR;

  let embedded: Embedded;
  beforeAll(async () => {
    embedded = await openMigratedEmbedded(await newDataDir());
    return () => embedded.close();
  });

  /** A service on an embedded database, and a target that does not respond until it is closed. */
  function newService() {
    const database = databaseOf(embedded.adapter, { ...embedded, embedded }, true);
    const opened: MoveTarget[] = [];
    const openTarget = async (name: string): Promise<MoveTarget> => {
      let end = (_: Error) => {};
      const closed = new Promise<never>((_, reject) => {
        end = reject;
      });
      closed.catch(() => {});
      const respond = () => closed;
      const session = { query: respond, exec: respond, write: respond, select: () => [], read: () => [] };
      const target = { name, session, migrate: respond, close: async () => end(new Error("closed")) };
      opened.push(target as unknown as MoveTarget);
      return target as unknown as MoveTarget;
    };
    const deps = { ...ctx(), database, db: database.client };
    return { deps, opened, start: (body = TO) => startMove(deps, operator, body, openTarget) };
  }

  test("of simultaneous requests one starts it, and another target is refused until it is canceled", async () => {
    const { deps, opened, start } = newService();
    const OTHER = { to: "postgres://homeport:secret@127.0.0.1:2/homeport" };
    const both = await Promise.allSettled([start(), start(), start(OTHER)]);
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    expect(both[2]).toMatchObject({ reason: { code: "move_in_progress" } });
    await expect.poll(() => opened.length).toBe(1);
    expect(await deps.db.auditEvent.count({ where: { type: "database_moved" } })).toBe(1);
    await cancelMove(deps, operator);
    expect(await start(OTHER)).toMatchObject({ state: "running" });
    await cancelMove(deps, operator);
    expect(readMove(deps)).toMatchObject({ state: "none" });
  });

  test("it ends when nobody has asked for its status for 20 seconds", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { deps, opened, start } = newService();
    await start();
    await vi.waitUntil(() => opened.length === 1);
    for (let i = 0; i < 3; i++) {
      vi.advanceTimersByTime(LEASE_MS - 1);
      expect(readMove(deps).state).toBe("running");
    }
    vi.advanceTimersByTime(LEASE_MS);
    vi.useRealTimers();
    await expect
      .poll(() => readMove(deps))
      .toMatchObject({
        state: "failed",
        error: { code: "move_failed", message: "The command has ended. Repeat it to continue." },
      });
    await start();
    expect(readMove(deps).state).toBe("running");
    await cancelMove(deps, operator);
  });
});

describe("the end of a service's move", () => {
  beforeEach(() => () => void vi.unstubAllEnvs());

  type Exec = CopySession["exec"];

  /**
   * A service, and a target whose next DROP SCHEMA `run` runs instead. Returns the state that the move ends in, and a write of
   * the service.
   */
  async function newMove(openTarget: () => Promise<MoveTarget>) {
    const dataDir = await newDataDir();
    const embedded = await openMigratedEmbedded(dataDir);
    onTestFinished(() => embedded.close());
    const database = databaseOf(embedded.adapter, { ...embedded, embedded }, true);
    const deps = { ...ctx(), config: { ...ctx().config, DATA_DIR: dataDir }, database, db: database.client };
    let hook: ((drop: () => Promise<void>, exec: Exec) => Promise<void>) | null = null;
    const open = async () => {
      const target = await openTarget();
      const { exec } = target.session;
      const execOrHook: Exec = async (script) => {
        if (!hook || !script.startsWith("DROP SCHEMA homeport_move")) return exec(script);
        const run = hook;
        hook = null;
        await run(() => exec(script), exec);
      };
      return { ...target, session: { ...target.session, exec: execOrHook } };
    };
    return {
      deps,
      move: async (run: typeof hook = null) => {
        hook = run;
        await startMove(deps, OPERATOR, TO, open);
        await expect.poll(() => readMove(deps).state).not.toBe("running");
        return readMove(deps);
      },
      add: (email: string) => deps.db.account.create({ data: { email } }),
      dataDir,
    };
  }

  const embeddedTarget = async () => {
    const folder = await newDataDir();
    await copyEmbeddedDatabase(folder);
    return () => openEmbeddedTarget(folder, false);
  };
  const serverTarget = async () => {
    const url = await createMigratedDatabase();
    return () => openServerTarget(url);
  };
  const targets = [
    { into: "an embedded database", newTarget: embeddedTarget, lose: () => Promise.reject(new Error("It was lost")) },
    {
      into: "PostgreSQL",
      newTarget: serverTarget,
      lose: (exec: Exec) => exec("SELECT pg_terminate_backend(pg_backend_pid())"),
    },
  ];

  test.runIf(postgresUrl)("is what the command reports if it is repeated after the service was killed", async () => {
    const [url, other] = [await createMigratedDatabase(), await createMigratedDatabase()];
    const { move, dataDir } = await newMove(() => openServerTarget(url));
    await move();
    vi.stubEnv("DATA_DIR", dataDir);
    vi.stubEnv("DATABASE_URL", undefined);
    const api = createAdminApi(openServiceHere().client);
    const repeat = (to: string) => moveEmbedded(api, { from: null, to, dataDir }, () => {});
    expect(await repeat(url)).toEqual({
      from: dataDir,
      to: url,
      rows: 1,
      tables: expect.any(Number),
      resumedTables: 0,
      pausedMs: null,
    });
    await expect(repeat(other)).rejects.toMatchObject({ code: "data_moved" });
  });

  describe.each(postgresUrl ? targets : targets.slice(0, 1))("into $into", ({ newTarget, lose }) => {
    test("is repeated if its last statement did not arrive, and users write until then", async () => {
      const { deps, move, add, dataDir } = await newMove(await newTarget());
      const error = { message: expect.stringMatching(/\. Changes are recorded, .*`homeport db move --cancel`/) };
      expect(await move((_drop, exec) => lose(exec))).toMatchObject({ state: "failed", error });
      expect(await readMoved(dataDir)).toBeNull();
      await add("ann@example.com");
      expect(await move()).toMatchObject({ state: "moved", result: { resumedTables: expect.any(Number) } });
      expect(readMove(deps).result?.resumedTables).toBeGreaterThan(3);
      await expect(add("bob@example.com")).rejects.toThrow("read-only");
    });

    test("is complete if the answer to its last statement is lost", async () => {
      const { move, add, dataDir } = await newMove(await newTarget());
      const moved = await move(async (drop, exec) => {
        await drop();
        await lose(exec);
      });
      expect(moved).toMatchObject({ state: "moved", error: null, result: { rows: 1 } });
      expect(await readMoved(dataDir)).not.toBeNull();
      await expect(add("ann@example.com")).rejects.toThrow("read-only");
    });

    test("goes on if the command ends while writes wait", async () => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
      const { move } = await newMove(await newTarget());
      const moved = await move(async (drop) => {
        vi.advanceTimersByTime(LEASE_MS);
        vi.useRealTimers();
        await drop();
      });
      expect(moved).toMatchObject({ state: "moved" });
    });
  });
});
