import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { listEmails } from "@/lib/accounts/emails/queued-emails";
import { NIL_ID } from "@/lib/platform/db/ids";
import { cancelDeliveries } from "@/lib/push/admin/cancel";
import { listDeliveries } from "@/lib/push/admin/list-deliveries";
import { listMessages, showMessage } from "@/lib/push/admin/list-messages";
import { readStatistics } from "@/lib/push/admin/statistics";
import { clock, ctx } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { statementsWithoutIndex } from "@/tests/support/explain";
import { activeDevices, clearOutbox, deliverDue, queueFor, recordingPush, sendDue } from "@/tests/support/push/push";

type Db = ReturnType<typeof ctx>["db"];

async function readAll(read: (page: { limit: number; cursor?: string }) => Promise<{ nextCursor: string | null }>) {
  let cursor: string | undefined;
  do cursor = (await read({ limit: 1, cursor })).nextCursor ?? undefined;
  while (cursor !== undefined);
}

async function makeRows() {
  await clearOutbox();
  const { account, rows } = await queueFor(2);
  await sendDue();
  await queueFor(2);
  await deliverDue({ push: recordingPush(async () => ({ status: 400, reason: "BadTopic" })).push });
  await queueFor(2);
  await activeDevices(account, 1);
  const [now, expiresAt] = [clock.now(), new Date(+clock.now() + 60_000)];
  const message = { eventKey: randomUUID(), kind: "app.new_version", payload: {}, priority: 5, expiresAt };
  const { id } = await ctx().db.pushMessage.create({ data: message });
  const ended = { perSecond: 1, estimatedDevices: 1, queued: 1, createdAt: now, nextDueAt: now, endedAt: now };
  await ctx().db.pushBroadcast.create({ data: { messageId: id, afterDeviceId: NIL_ID, ...ended } });
  return { account, broadcast: id, message: (await rows())[0]?.messageId ?? "" };
}

test.runIf(postgresUrl)("an index serves every page of messages, deliveries and figures, in its order", async () => {
  const { account, broadcast, message } = await makeRows();
  const inOrder = async (db: Db) => {
    const filters = [
      {},
      { state: "sent" },
      { state: "failed" },
      { state: "cancelled" },
      { reason: "BadTopic" },
      { state: "sent", endedFrom: new Date(0) },
    ] as const;
    for (const filter of filters) await readAll((page) => listDeliveries({ ...ctx(), db }, { ...filter, ...page }));
    for (const order of ["newest", "oldest"] as const)
      await readAll((page) => listEmails({ ...ctx(), db }, { order, ...page }));
  };
  // Sorts one page of what an index has read in its order.
  const inPages = async (db: Db) => {
    for (const state of [undefined, "sent", "failed"] as const) {
      await readAll((page) => listDeliveries({ ...ctx(), db }, { messageId: broadcast, state, ...page }));
    }
    await readAll((page) => listMessages({ ...ctx(), db }, page));
    await readAll((page) => listMessages({ ...ctx(), db }, { by: "operator", ...page }));
  };
  const anyOrder = async (db: Db) => {
    await inOrder(db);
    await inPages(db);
    await readAll((page) => listDeliveries({ ...ctx(), db }, { account: account.id, ...page }));
    await readAll((page) => listDeliveries({ ...ctx(), db }, { messageId: message, ...page }));
    await readAll((page) => listMessages({ ...ctx(), db }, { account: account.id, ...page }));
    await showMessage({ ...ctx(), db }, message);
    await showMessage({ ...ctx(), db }, broadcast);
    for (const period of ["day", "month"] as const) await readStatistics({ ...ctx(), db }, { period });
    for (const id of [message, broadcast]) await db.$transaction((tx) => cancelDeliveries(tx, ctx(), id));
    await readAll((page) => listEmails({ ...ctx(), db }, { to: account.email, ...page }));
  };
  expect(await statementsWithoutIndex(inOrder, { inOrder: true })).toEqual([]);
  expect(await statementsWithoutIndex(anyOrder)).toEqual([]);
});
