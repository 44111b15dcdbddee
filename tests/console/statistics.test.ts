import { describe, expect, test } from "vitest";
import { searchAccounts } from "@/lib/accounts/admin/search-accounts";
import { readNewestVersions } from "@/lib/overview/read-newest-versions";
import { type MetricDays, readOverviewDays } from "@/lib/overview/read-overview-days";
import { readQueues } from "@/lib/overview/read-queues";
import { newId } from "@/lib/platform/db/ids";
import { countActiveSubscriptions, updateStatistics } from "@/lib/platform/statistics";
import { listActiveSubscriptions } from "@/lib/subscriptions/admin/list-subscriptions";
import { newAccount } from "@/tests/support/accounts";
import { clock, ctx } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { statementsWithoutIndex } from "@/tests/support/explain";
import { billingEvent, deliverOk } from "@/tests/support/subscriptions/billing";

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

/** Half past two in the afternoon, on a day of its own for each test, so that none counts what another one added. */
let days = 0;
function newAfternoon(): Date {
  days += 60;
  return new Date(Date.UTC(2030, 0, 1 + days, 14, 30));
}

const statisticsAt = async (now: Date) => {
  const deps = { db: ctx().db, now: () => now };
  await updateStatistics(deps);
  return (await readOverviewDays(deps, 14)).metrics;
};

async function addAccount(at: Date): Promise<string> {
  const id = newId(at);
  await ctx().db.account.create({ data: { id, email: `counted-${id}@example.com`, createdAt: at } });
  return id;
}

async function addSession(accountId: string, at: Date): Promise<void> {
  const expiresAt = new Date(at.getTime() + 30 * DAY_MS);
  const times = { createdAt: at, authenticatedAt: at, lastSeenAt: at, idleExpiresAt: expiresAt, expiresAt };
  await ctx().db.session.create({ data: { accountId, transport: "token", ...times } });
}

async function countDeliveries(at: Date, state: "sent" | "failed", count: number): Promise<void> {
  const hour = new Date(Math.floor(at.getTime() / HOUR_MS) * HOUR_MS);
  const counted = { messageId: newId(), hour, state, reason: "", writer: newId(), count };
  await ctx().db.pushOutcomeCount.create({ data: counted });
}

describe("the figures of the overview", () => {
  test("compare today so far with the same day of last week up to the same hour", async () => {
    const now = newAfternoon();
    const before = (ms: number) => new Date(now.getTime() - ms);
    const times = [0, HOUR_MS, DAY_MS, 7 * DAY_MS, 7 * DAY_MS + HOUR_MS, 7 * DAY_MS - 3 * HOUR_MS];
    for (const ms of times) await addAccount(before(ms));
    const { sign_ups } = await statisticsAt(now);
    expect(sign_ups).toMatchObject({ today: 2, weekAgo: 2 } satisfies Partial<MetricDays>);
    expect(sign_ups.days.slice(-8)).toEqual([3, 0, 0, 0, 0, 0, 1, 2]);
  });

  test("count each thing once, however often they are counted, and what came since", async () => {
    const now = newAfternoon();
    await countDeliveries(new Date(now.getTime() - HOUR_MS), "sent", 3);
    await countDeliveries(new Date(now.getTime() - HOUR_MS), "failed", 2);
    await statisticsAt(now);
    await statisticsAt(now);
    await countDeliveries(now, "sent", 1);
    const { notifications_sent, notifications_failed } = await statisticsAt(now);
    expect([notifications_sent.today, notifications_failed.today]).toEqual([4, 2]);
  });

  test("count an account with several sessions once, and one that was active yesterday not today", async () => {
    const now = newAfternoon();
    const [ann, bob] = [await addAccount(now), await addAccount(now)];
    await addSession(ann, now);
    await addSession(ann, new Date(now.getTime() - 2 * HOUR_MS));
    await addSession(bob, new Date(now.getTime() - DAY_MS));
    expect((await statisticsAt(now)).active_accounts).toMatchObject({ today: 1, weekAgo: null });
    const later = new Date(now.getTime() + 7 * DAY_MS);
    await addSession(bob, later);
    expect((await statisticsAt(later)).active_accounts).toMatchObject({ today: 1, weekAgo: 1 });
  });

  test("are counted again once a clock that was days ahead is right", async () => {
    const now = newAfternoon();
    const ahead = new Date(now.getTime() + 3 * DAY_MS);
    await addSession(await addAccount(ahead), ahead);
    await countDeliveries(ahead, "sent", 1);
    await statisticsAt(ahead);
    await addSession(await addAccount(now), now);
    await countDeliveries(now, "sent", 2);
    await updateStatistics({ db: ctx().db, now: () => now }, { minAgeMs: HOUR_MS });
    const { countedAt, metrics } = await readOverviewDays({ db: ctx().db, now: () => now }, 14);
    expect(countedAt).toEqual(now);
    expect([metrics.sign_ups.today, metrics.notifications_sent.today, metrics.active_accounts.today]).toEqual([
      1, 2, 2,
    ]);
  });

  test("count events of subscriptions that are applied hours after they were received", async () => {
    const now = newAfternoon();
    const receivedAt = new Date(now.getTime() - 3 * HOUR_MS);
    const event = { provider: "revenuecat", type: "RENEWAL", state: "processed", facts: {} } as const;
    const add = (changed: object) => {
      const data = { ...event, eventId: newId(), occurredAt: receivedAt, receivedAt, ...changed };
      return ctx().db.billingEvent.create({ data });
    };
    await add({});
    const { id } = await add({ state: "failed" });
    for (const type of ["INITIAL_PURCHASE", "RENEWAL", "CANCELLATION", "EXPIRATION"])
      await add({ type, receivedAt: now });
    expect((await statisticsAt(now)).subscriptions_renewed.today).toBe(2);
    await ctx().db.billingEvent.update({ where: { id }, data: { state: "processed" } });
    expect((await statisticsAt(now)).subscriptions_renewed.today).toBe(3);
  });

  test("are counted by one of several processes", async () => {
    const now = newAfternoon();
    const deps = { db: ctx().db, now: () => now };
    await updateStatistics(deps);
    await addAccount(now);
    await Promise.all([1, 2, 3].map(() => updateStatistics(deps, { minAgeMs: HOUR_MS })));
    expect((await readOverviewDays(deps, 14)).metrics.sign_ups.today).toBe(0);
  });
});

describe("the lists that the figures link to", () => {
  test("have the accounts that were created, and those that were active, since midnight", async () => {
    const now = newAfternoon();
    const midnight = new Date(Math.floor(now.getTime() / DAY_MS) * DAY_MS);
    const [ann, bob] = [await addAccount(now), await addAccount(new Date(now.getTime() - DAY_MS))];
    await addSession(ann, new Date(midnight.getTime() - HOUR_MS));
    await addSession(bob, now);
    const deps = { db: ctx().db, now: () => now };
    const listed = async (query: Parameters<typeof searchAccounts>[1]) =>
      (await searchAccounts(deps, query)).accounts.map(({ id }) => id);
    expect(await listed({ createdFrom: midnight })).toEqual([ann]);
    expect(await listed({ seenFrom: midnight })).toEqual([bob]);
    expect(await listed({ query: "counted-", seenFrom: midnight })).toEqual([bob]);
    expect(await listed({ query: "counted-", createdFrom: midnight })).toEqual([ann]);
  });

  test("have the subscriptions that are active, page by page", async () => {
    const { id } = await newAccount();
    for (let i = 0; i < 2; i++) await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: id }));
    await deliverOk(billingEvent("EXPIRATION", { expiration_at_ms: clock.now().getTime() - 1_000 }));
    const listed: (string | null)[] = [];
    for (let cursor: string | undefined; ; ) {
      const { subscriptions, nextCursor } = await listActiveSubscriptions(ctx(), { limit: 1, cursor });
      listed.push(...subscriptions.map(({ accountId }) => accountId));
      if (nextCursor === null) break;
      cursor = nextCursor;
    }
    expect(listed.slice(0, 2)).toEqual([id, id]);
    expect(listed).toHaveLength(await countActiveSubscriptions(ctx().db, ctx().now()));
  });
});

test("the queues of the overview are those that wait", async () => {
  await newAccount();
  const before = await readQueues(ctx());
  const at = new Date(ctx().now().getTime() - HOUR_MS);
  const email = { kind: "welcome", email: `${newId()}@example.com`, createdAt: at, attempts: 2 };
  await ctx().db.queuedEmail.create({
    data: { ...email, nextAttemptAt: at, expiresAt: new Date(at.getTime() + DAY_MS) },
  });
  const after = await readQueues(ctx());
  expect(after?.queuedEmails).toBe((before?.queuedEmails ?? 0) + 1);
  expect(after?.retriedEmails).toBe((before?.retriedEmails ?? 0) + 1);
  expect(after?.dueEmailsSeconds).toBeGreaterThanOrEqual(3_600);
  await ctx().db.queuedEmail.deleteMany({ where: { email: email.email } });
});

describe.runIf(postgresUrl)("on PostgreSQL an index serves", () => {
  test("everything that is counted for the overview, and everything that it reads", async () => {
    const now = newAfternoon();
    const count = (db: ReturnType<typeof ctx>["db"]) => updateStatistics({ db, now: () => now });
    expect(await statementsWithoutIndex(count)).toEqual([]);
    const read = async (db: ReturnType<typeof ctx>["db"]) => {
      await readOverviewDays({ db, now: ctx().now }, 14);
      await readQueues({ ...ctx(), db });
      await readNewestVersions({ ...ctx(), db });
      for (const account of [undefined, newId()]) {
        await listActiveSubscriptions({ db, now: ctx().now }, { limit: 1, account });
      }
    };
    expect(await statementsWithoutIndex(read)).toEqual([]);
  });
});
