import { randomUUID } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { COMMAND_LINE } from "@/lib/platform/audit/operator-events";
import { cancelMove, readMove, startMove } from "@/lib/platform/backup/move-database";
import type { Embedded } from "@/lib/platform/db/embedded/open";
import type { MoveTarget } from "@/lib/platform/db/move/target";
import { databaseOf } from "@/lib/platform/db/open";
import type { Operator } from "@/lib/principal";
import { call, get } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { ctx } from "@/tests/support/context";
import { openMigratedEmbedded } from "@/tests/support/database";

const MOVE = "/api/admin/database/move";
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
  const operator: Operator = { actor: `operator:${randomUUID()}`, accountId: null, source: COMMAND_LINE };
  const LEASE_MS = 20_000;

  let embedded: Embedded;
  beforeAll(async () => {
    embedded = await openMigratedEmbedded(await mkdtemp(path.join(tmpdir(), "homeport-move-")));
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
