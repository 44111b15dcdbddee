import { beforeEach, expect, test } from "vitest";
import type { Context } from "@/lib/context";
import { createSender, type SenderDeps } from "@/lib/push/worker/sender";
import { clock, ctx } from "@/tests/support/context";
import { clearOutbox, queueFor, recordingPush } from "@/tests/support/push/push";

const SECOND_MS = 1_000;

beforeEach(clearOutbox);

const deps = (changed: Partial<SenderDeps>) => ({ ...(ctx() as SenderDeps), ...changed });

test("outcomes are stored once an unreachable database is back", async () => {
  const { rows } = await queueFor(2);
  let failures = 2;
  const away = new Proxy(ctx().db, {
    get: (db, name, receiver) => {
      if (name !== "$executeRaw" || failures === 0) return Reflect.get(db, name, receiver);
      failures -= 1;
      return () => Promise.reject(new Error("connection terminated"));
    },
  }) as Context["db"];
  const { push, sent } = recordingPush();
  const sender = createSender(deps({ push, db: away }));
  await sender.claimAndSend();
  await expect.poll(async () => (await rows()).map(({ state }) => state)).toEqual(["sent", "sent"]);
  await sender.finish();
  expect({ failures, sent: sent.length }).toEqual({ failures: 0, sent: 2 });
});

test("a delivery that was sent during an outage of the database is not sent again", async () => {
  const { rows } = await queueFor(3);
  let isAway = true;
  let failures = 0;
  const away = new Proxy(ctx().db, {
    get: (db, name, receiver) => {
      if (name !== "$executeRaw" || !isAway) return Reflect.get(db, name, receiver);
      failures += 1;
      return () => Promise.reject(new Error("connection terminated"));
    },
  }) as Context["db"];
  const { push, sent } = recordingPush();
  const sender = createSender(deps({ push, db: away }));
  await sender.claimAndSend();
  await expect.poll(() => failures).toBeGreaterThan(0);
  clock.advance(61 * SECOND_MS);
  isAway = false;
  await sender.maintain();
  await sender.finish();
  expect(sent).toHaveLength(3);
  expect(await rows()).toMatchObject(Array(3).fill({ state: "sent", attempts: 1, reason: null }));
});
