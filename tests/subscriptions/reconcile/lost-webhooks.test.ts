import { afterAll, expect, test } from "vitest";
import { sessionToken } from "@/lib/auth/sessions/sessions";
import { newId } from "@/lib/platform/db/ids";
import { reconcileNext } from "@/lib/subscriptions/reconcile/reconciler";
import { scheduleRenewals } from "@/lib/subscriptions/reconcile/schedule";
import { sweepProviders } from "@/lib/subscriptions/reconcile/sweep";
import { openSources } from "@/lib/subscriptions/sources/find-source";
import { createRandom, type Random } from "@/tests/simulation/random";
import { clock, ctx, setUpContext } from "@/tests/support/context";
import { DAY_MS, statusOf } from "@/tests/support/subscriptions/billing";
import { startProvider, withKeys } from "@/tests/support/subscriptions/billing-sources";
import { deliverWith } from "@/tests/support/subscriptions/deliver-with";
import {
  answerOf,
  type FakeProvider,
  fakeAppStore,
  fakePaddle,
  fakeStripe,
  type Webhook,
} from "@/tests/support/subscriptions/provider-api";
import { PROVIDERS } from "@/tests/support/subscriptions/providers";
import { send } from "@/tests/support/subscriptions/revenuecat";

setUpContext({ config: PROVIDERS });
const provider = await startProvider();
afterAll(() => provider.close());

const LONG = { timeout: 600_000 };
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

type Change = (fake: FakeProvider, id: string, accountId: string) => Webhook[];
/** What a customer buys before the day, what happens in it, hour by hour, and the status at its end. */
type Plan = {
  buys: "subscribe" | "buy" | null;
  endsInHours?: number;
  changes: Change[];
  status: object | ((fake: FakeProvider) => object);
};

const renew: Change = ({ change }, id) => change.renew(id);
const cancel: Change = ({ change }, id) => change.cancel(id);
const upgrade: Change = ({ change }, id) => change.upgrade(id);
const expire: Change = ({ change }, id) => change.expire(id);
const fail: Change = ({ change }, id) => change.fail(id);
const refund: Change = (fake, id) => fake.refund(id);
const subscribe: Change = (fake, _, accountId) => fake.subscribe(accountId, 30 * DAY_MS).webhooks;
const buy: Change = (fake, _, accountId) => fake.buy(accountId).webhooks;

const active = { status: "active", isActive: true, willRenew: true, stale: false };
const expired = { status: "expired", isActive: false };
const PLANS: Plan[] = [
  { buys: "subscribe", endsInHours: 12, changes: [renew], status: active },
  { buys: "subscribe", changes: [cancel], status: { status: "canceled", isActive: true, willRenew: false } },
  { buys: "buy", changes: [refund], status: { status: "revoked", isActive: false } },
  { buys: "subscribe", changes: [refund], status: { isActive: false, willRenew: false } },
  {
    buys: "subscribe",
    changes: [upgrade],
    status: ({ premium }: FakeProvider) => ({
      ...active,
      entitlements: premium.map((id) => expect.objectContaining({ id, isActive: true })),
    }),
  },
  { buys: "subscribe", endsInHours: 12, changes: [expire], status: expired },
  { buys: "subscribe", endsInHours: 12, changes: [fail], status: ({ unpaid }) => unpaid },
  { buys: "subscribe", changes: [upgrade, cancel, expire], status: expired },
  { buys: null, changes: [subscribe], status: active },
  { buys: null, changes: [buy], status: { isLifetime: true } },
  { buys: "subscribe", changes: [], status: active },
];

type Customer = { id: string; token: string; plan: Plan; fake: FakeProvider; purchase: string };

/** Accounts that are signed in. */
async function newAccounts(count: number): Promise<{ id: string; token: string }[]> {
  const { config, db } = ctx();
  const now = clock.now();
  const later = new Date(now.getTime() + 60 * DAY_MS);
  const accounts = Array.from({ length: count }, () => ({ id: newId(), sid: newId() }));
  await db.account.createMany({ data: accounts.map(({ id }) => ({ id, email: `${id}@example.com` })) });
  const times = { authenticatedAt: now, lastSeenAt: later, idleExpiresAt: later, expiresAt: later };
  await db.session.createMany({
    data: accounts.map(({ id, sid }) => ({ id: sid, accountId: id, transport: "token", ...times })),
  });
  return Promise.all(
    accounts.map(async ({ id, sid }) => ({ id, token: await sessionToken({ config }, { sub: id, sid, epoch: 0 }) })),
  );
}

/** Some at a time, as they arrive. */
async function inParts<Item>(items: readonly Item[], handle: (item: Item) => Promise<void>): Promise<void> {
  for (let start = 0; start < items.length; start += 20) {
    await Promise.all(items.slice(start, start + 20).map(handle));
  }
}
const deliver = (webhooks: Webhook[]) =>
  inParts(webhooks, async (webhook) => {
    const { body, headers } = webhook();
    expect((await deliverWith(body, headers))[0]).toBe(200);
  });

async function newCustomers(fakes: FakeProvider[]): Promise<Customer[]> {
  // The embedded database takes six times as long.
  const accounts = await newAccounts(ctx().database.embedded === null ? 1_000 : 150);
  return accounts.map((account, i) => ({
    ...account,
    fake: fakes[i % fakes.length] as FakeProvider,
    plan: PLANS[Math.floor(i / fakes.length) % PLANS.length] as Plan,
    purchase: "",
  }));
}

const expectStatuses = (customers: Customer[]) =>
  inParts(customers, async ({ fake, plan, token }) => {
    const expected = typeof plan.status === "function" ? plan.status(fake) : plan.status;
    expect({ store: fake.store, plan: PLANS.indexOf(plan), ...(await statusOf({ token })) }).toMatchObject(expected);
  });

/** Runs the background tasks, every 30 seconds by the tests' clock, until nothing is due. Returns how long that takes. */
async function heal(): Promise<number> {
  const startMs = clock.now().getTime();
  const { db } = ctx();
  for (;;) {
    await Promise.all([sweepProviders(ctx()), scheduleRenewals(ctx())]);
    for (const source of openSources(ctx())) while (await reconcileNext(ctx(), source));
    const finishedAt = { gte: new Date(startMs) };
    const isSwept = (await db.billingSweep.count({ where: { finishedAt } })) === openSources(ctx()).length;
    if (isSwept && (await db.billingReconcileJob.count()) === 0) return clock.now().getTime() - startMs;
    clock.advance(MINUTE_MS / 2);
  }
}

/** Answers as the providers do, and sometimes not at all: with an error, or a connection that breaks. */
function respondUnreliably(answer: ReturnType<typeof answerOf>, random: Random) {
  provider.respond((_, response, request) => {
    const chance = random.below(100);
    if (chance === 0) return response.destroy();
    if (chance === 1) return send(response, 500, {});
    const { status, body, headers } = answer(request);
    send(response, status, body, headers);
  });
}

/** What owners see of their access. */
async function accessOf(customers: Customer[]): Promise<object> {
  const seen: Record<string, object> = {};
  await inParts(customers, async ({ id, token }) => {
    const { status, isActive, entitlements, currentPeriodEndsAt, accessEndsAt, refundedAt } = await statusOf({ token });
    seen[id] = { status, isActive, entitlements, currentPeriodEndsAt, accessEndsAt, refundedAt };
  });
  return seen;
}

test("a day of lost webhooks is mended within ten minutes, and late ones change nothing", LONG, async () => {
  const random = createRandom(37);
  // Few enough requests that there are pauses.
  const [stripe, paddle, appStore] = [fakeStripe(), fakePaddle({ perMinute: 40 }), fakeAppStore()];
  respondUnreliably(answerOf({ stripe, paddle, appStore }), random);
  const customers = await newCustomers([stripe, paddle, appStore]);
  await withKeys(provider.url, async () => {
    await inParts(customers, async (customer) => {
      const { buys, endsInHours } = customer.plan;
      const endsInMs = endsInHours ? endsInHours * HOUR_MS : 30 * DAY_MS;
      const bought = buys && customer.fake[buys](customer.id, endsInMs);
      if (bought) await deliver(bought.webhooks);
      customer.purchase = bought?.id ?? "";
    });
    await heal();
    const lost: Webhook[] = [];
    for (let hour = 1; hour <= 24; hour += 1) {
      clock.advance(HOUR_MS);
      for (const [i, { plan, fake, purchase, id }] of customers.entries()) {
        const change = plan.changes[hour - (plan.endsInHours ?? 1 + (i % 20))];
        if (change) lost.push(...change(fake, purchase, id));
      }
    }
    expect(await heal()).toBeLessThanOrEqual(10 * MINUTE_MS);
    await expectStatuses(customers);
    const access = await accessOf(customers);
    await deliver(random.shuffle(lost));
    expect(await accessOf(customers)).toEqual(access);
  });
});
