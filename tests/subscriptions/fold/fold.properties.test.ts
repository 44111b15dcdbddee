import fc from "fast-check";
import { expect, test } from "vitest";
import { type PurchaseEvent, PurchaseEventType } from "@/lib/subscriptions/events";
import { foldPurchase } from "@/lib/subscriptions/fold/fold-purchase";
import { type OwnerEvent, ownerAppUserIds } from "@/lib/subscriptions/ownership";
import { revenueCat } from "@/lib/subscriptions/providers/revenuecat";
import { purchaseStatus } from "@/lib/subscriptions/status/purchase-status";
import { documentedAccess } from "@/tests/support/subscriptions/documented-access";
import { type Payload, PurchaseHistory } from "@/tests/support/subscriptions/purchase-history";

/** The same runs everywhere; another seed explores other histories. */
const RUNS = { numRuns: 250, seed: Number(process.env.FAST_CHECK_SEED ?? 20_261_120) };
const START = Date.UTC(2026, 0, 1);
const HOUR_MS = 60 * 60 * 1000;
const RULES = { staleLeewaySeconds: 3600, isSandboxEntitled: false, managementUrls: new Map() };

/** Few moments, so that many events share one; and the ends of time. */
const moment = fc.oneof(
  { weight: 20, arbitrary: fc.integer({ min: 0, max: 40 }).map((n) => new Date(START + n * 6 * HOUR_MS)) },
  { weight: 1, arbitrary: fc.constantFrom(new Date(0), new Date(Date.UTC(9999, 11, 31))) },
);
const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: null });
const product = maybe(fc.constantFrom("monthly", "yearly"));

const delivered = PurchaseEventType.options.filter((type) => type !== "SNAPSHOT" && type !== "IMPORT");
const purchaseEvent: fc.Arbitrary<PurchaseEvent> = fc.record({
  id: fc.integer({ min: 0, max: 1_000_000 }).map(String),
  type: fc.constantFrom(...delivered),
  occurredAt: moment,
  purchasedAt: maybe(moment),
  expiresAt: maybe(moment),
  gracePeriodEndsAt: maybe(moment),
  resumesAt: maybe(moment),
  productId: product,
  newProductId: product,
  entitlementIds: maybe(fc.uniqueArray(fc.constantFrom("pro", "cloud"))),
  periodType: maybe(fc.constantFrom("TRIAL", "INTRO", "NORMAL", "PROMOTIONAL", "PREPAID", "NEWER")),
  isFamilyShare: maybe(fc.boolean()),
  cancelReason: maybe(fc.constantFrom("UNSUBSCRIBE", "BILLING_ERROR", "CUSTOMER_SUPPORT", "UNKNOWN")),
  expirationReason: maybe(fc.constantFrom("UNSUBSCRIBE", "BILLING_ERROR", "CUSTOMER_SUPPORT", "SUBSCRIPTION_PAUSED")),
  isRefund: fc.boolean(),
  revocationType: fc.constant(null),
  revocationPercentage: fc.constant(null),
  billingPlanType: fc.constant(null),
  commitment: fc.constant(null),
  appTransactionId: fc.constant(null),
  identityChange: fc.constant(null),
  snapshot: fc.constant(null),
  payment: fc.constant(null),
  invalidField: fc.constant(null),
  operator: fc.constant(null),
  order: fc.constant(null),
});
/** A state that an import read. */
const imported: fc.Arbitrary<PurchaseEvent> = fc
  .tuple(purchaseEvent, maybe(moment), maybe(moment), maybe(moment))
  .map(([event, unsubscribedAt, billingIssueDetectedAt, refundedAt]) => ({
    ...event,
    type: "IMPORT",
    snapshot: { unsubscribedAt, billingIssueDetectedAt, refundedAt, endedAt: null },
  }));
const anyEvent = fc.oneof({ weight: 6, arbitrary: purchaseEvent }, { weight: 1, arbitrary: imported });
const history = fc.uniqueArray(anyEvent, { selector: ({ id }) => id, minLength: 1, maxLength: 12 });
/** A history, and the same in another order with some of it twice. */
const arrivals = history.chain((events) =>
  fc.tuple(
    fc.constant(events),
    fc.shuffledSubarray(events, { minLength: events.length, maxLength: events.length }),
    fc.subarray(events),
  ),
);

const place = { id: "", provider: "revenuecat", store: "APP_STORE", environment: "PRODUCTION" };

test("every order of arrival, with duplicates, folds to the same state", () => {
  fc.assert(
    fc.property(arrivals, ([events, shuffled, twice]) => {
      expect(foldPurchase([...shuffled, ...twice])).toEqual(foldPurchase(events));
    }),
    RUNS,
  );
});

test("no history leads to an exception, at whatever moment its status is read", () => {
  fc.assert(
    fc.property(history, moment, (events, at) => {
      const status = purchaseStatus({ ...foldPurchase(events), ...place }, at, RULES);
      expect(status.entitlements.every((one) => one.isActive === status.isActive)).toBe(true);
    }),
    RUNS,
  );
});

/** Events that an end lasts through: all but those that begin a period, and what takes a refund back. */
const TAKES_BACK = new Set<PurchaseEvent["type"]>([
  ...(["INITIAL_PURCHASE", "NON_RENEWING_PURCHASE", "TEMPORARY_ENTITLEMENT_GRANT"] as const),
  ...(["RENEWAL", "REFUND_REVERSED"] as const),
]);

test("nothing of its period gives access after a refund that revokes but the refund's reversal", () => {
  const after = fc
    .array(purchaseEvent, { maxLength: 8 })
    .map((events) => events.filter(({ type }) => !TAKES_BACK.has(type)));
  fc.assert(
    fc.property(history, purchaseEvent, after, moment, (before, cancellation, later, at) => {
      const last = Math.max(
        ...before.flatMap((event) => [event.occurredAt, event.purchasedAt ?? event.occurredAt]).map(Number),
      );
      const period = settled(last + 1);
      const refund: PurchaseEvent = { ...cancellation, ...period, id: "refund", type: "CANCELLATION", isRefund: true };
      const rest = later.map((event, i): PurchaseEvent => {
        return { ...event, ...period, occurredAt: new Date(last + i + 2), id: `later-${i}` };
      });
      const state = foldPurchase([...rest, ...before, { ...refund, expiresAt: refund.purchasedAt }]);
      expect(state.refundedAt).not.toBeNull();
      expect(purchaseStatus({ ...state, ...place }, at, RULES)).toMatchObject({ status: "revoked", isActive: false });
    }),
    RUNS,
  );
});

const settled = (ms: number) => ({ occurredAt: new Date(ms), purchasedAt: new Date(ms) });

/** A documented purchase, and the moments at which its status is read. */
const purchaseHistory = fc.array(fc.nat(), { maxLength: 60 }).map((choices) => new PurchaseHistory(choices));
const moments = fc.array(fc.integer({ min: 0, max: 400 * 24 }), { minLength: 1, maxLength: 8 });
const atOf = (hours: number) => START + hours * HOUR_MS;
/** What an account may use after these deliveries, in whatever order they came, some of them twice. */
const accessAfter = (delivered: Payload[], atMs: number) => {
  const events = delivered.map((payload): PurchaseEvent => {
    const { facts } = revenueCat.read({ event: payload }, new Date(Date.UTC(2040, 0, 1)));
    return { id: payload.id, type: PurchaseEventType.parse(payload.type), ...facts };
  });
  const rules = { ...RULES, staleLeewaySeconds: 0 };
  const { entitlements, isActive } = purchaseStatus({ ...foldPurchase(events), ...place }, new Date(atMs), rules);
  expect(entitlements.every((one) => one.isActive === isActive)).toBe(true);
  return entitlements.flatMap(({ id, isActive }) => (isActive ? id : [])).toSorted();
};

test("at any time the status of a purchase gives the access that the store gives", () => {
  fc.assert(
    fc.property(purchaseHistory, moments, (purchase, hours) => {
      for (const atMs of [...hours.map(atOf), ...purchase.events.map((event) => event.event_timestamp_ms)]) {
        const delivered = purchase.events.filter((event) => event.event_timestamp_ms <= atMs);
        expect(accessAfter(delivered.toReversed(), atMs)).toEqual(purchase.accessAt(atMs));
      }
    }),
    RUNS,
  );
});

test("where deliveries are lost, doubled and late, the newest of the others decide on access", () => {
  const some = purchaseHistory.chain((purchase) =>
    fc.tuple(fc.shuffledSubarray(purchase.events), fc.subarray(purchase.events.slice(0, 3)), moments),
  );
  fc.assert(
    fc.property(some, ([events, twice, hours]) => {
      const delivered = [...events, ...twice];
      const inOrder = [...new Set(delivered)].toSorted((a, b) => (a.id < b.id ? -1 : 1));
      const lastMs = inOrder.at(-1)?.event_timestamp_ms ?? START;
      for (const atMs of [lastMs, ...hours.map((one) => lastMs + one * HOUR_MS)]) {
        expect(accessAfter(delivered, atMs)).toEqual(documentedAccess(inOrder, atMs));
      }
    }),
    RUNS,
  );
});

test("the owner of a purchase does not depend on the order of arrival", () => {
  const name = fc.constantFrom("ann", "bob", "carl", "anonymous-1", "anonymous-2");
  const some = fc.uniqueArray(name, { minLength: 1, maxLength: 3 });
  const claim: fc.Arbitrary<OwnerEvent> = fc.record({
    id: fc.integer({ min: 0, max: 1_000_000 }).map(String),
    occurredAt: moment,
    appUserIds: some,
    transferredFrom: maybe(some),
  });
  const said = fc.uniqueArray(claim, { selector: ({ id }) => id, maxLength: 10 });
  const shuffledClaims = said.chain((claims) =>
    fc.tuple(
      fc.constant(claims),
      fc.shuffledSubarray(claims, { minLength: claims.length, maxLength: claims.length }),
      fc.array(some, { maxLength: 2 }),
    ),
  );
  fc.assert(
    fc.property(shuffledClaims, ([claims, shuffled, aliases]) => {
      expect(ownerAppUserIds(shuffled, aliases)).toEqual(ownerAppUserIds(claims, aliases));
    }),
    RUNS,
  );
});
