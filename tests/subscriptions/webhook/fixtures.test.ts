import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";
import { IdentityEventType, PurchaseEventType } from "@/lib/subscriptions/events";
import { accountWithId } from "@/tests/support/accounts";
import { ctx } from "@/tests/support/context";
import { deliverRaw } from "@/tests/support/subscriptions/billing";

const FOLDER = "tests/subscriptions/fixtures";
const LENA = "5d3c1a52-8f61-4a1e-9d0a-2f6f0d1c7b01";
const MO = "8a0b4d3e-11c2-4f7b-9e55-6c7d8e9f0a1b";
const read = (name: string) => readFileSync(path.join(FOLDER, `${name}.json`), "utf8");
const names = readdirSync(FOLDER).map((file) => path.basename(file, ".json"));

/** What becomes of each: the receipt's status, and the reason kept with it. */
const RECEIPTS: Record<string, [status: string, reason: string | null]> = {
  "billing-issue": ["processed", null],
  "cancellation-billing-error": ["processed", null],
  "cancellation-promotional": ["processed", null],
  "cancellation-refund": ["processed", null],
  "cancellation-unsubscribe": ["processed", null],
  "experiment-enrollment": ["ignored", "type_not_applied"],
  expiration: ["processed", null],
  "expiration-temporary-grant": ["processed", null],
  "initial-purchase": ["processed", null],
  "invoice-issuance": ["ignored", "type_not_applied"],
  "non-renewing-purchase": ["processed", null],
  "non-renewing-purchase-promotional": ["processed", null],
  "paywall-impression": ["ignored", "type_not_applied"],
  "price-increase-consent-required": ["ignored", "type_not_applied"],
  "product-change": ["processed", null],
  "purchase-redeemed-alias": ["processed", null],
  "purchase-redeemed-redeemer-owns": ["ignored", "nothing_to_change"],
  "purchase-redeemed-transfer": ["processed", null],
  "refund-reversed": ["processed", null],
  renewal: ["processed", null],
  "store-unknown": ["processed", null],
  "subscriber-alias": ["processed", null],
  "subscription-extended": ["processed", null],
  "subscription-paused": ["processed", null],
  "temporary-entitlement-grant": ["processed", null],
  test: ["ignored", "type_not_applied"],
  transfer: ["processed", null],
  uncancellation: ["processed", null],
  "virtual-currency-transaction": ["ignored", "type_not_applied"],
};

/** What the purchases are in the end, by their first transactions. */
const LINES: Record<string, object> = {
  // Bought for a trial, converted, unsubscribed and back, extended, and about to change: by then it was Lena's, since
  // the transfer took it from her device's anonymous name, which is hers too.
  "720001200000001": {
    environment: "PRODUCTION",
    accountId: MO,
    productId: "com.example.homeport.pro.monthly",
    pendingProductId: "com.example.homeport.pro.yearly",
    entitlementIds: ["pro"],
    periodType: "NORMAL",
    unsubscribedAt: null,
    startedAt: new Date(1772441960000),
  },
  "720001200000105": { refundedAt: null, endedAt: null },
  "720001200000106": {
    billingIssueDetectedAt: new Date(1775120400000),
    gracePeriodEndsAt: new Date(1776502800000),
    unsubscribedAt: null,
  },
  "720001200000109": { isLifetime: true, periodType: null, store: "MAC_APP_STORE", accountId: LENA },
  "GPA.3355-1180-7742-90211": {
    store: "PLAY_STORE",
    productId: "pro:monthly",
    pausedAt: new Date(1773738000000),
    endedAt: new Date(1775120360000),
    expirationReason: "SUBSCRIPTION_PAUSED",
  },
  "H-1": { store: "HOLOGRAM_STORE", environment: "UNKNOWN", entitlementIds: [] },
  // A temporary grant, which names no environment, and the expiration that takes it back after an hour.
  "temporary-720001200000119": {
    environment: "PRODUCTION",
    isLifetime: false,
    currentPeriodEndsAt: new Date(1772441997000 + 24 * 60 * 60 * 1000),
    endedAt: new Date(1772445597000),
  },
  // An entitlement granted for life by the developer, and removed again.
  "7d3eac6aefd0ed38806eecaf0140dbbc": {
    store: "PROMOTIONAL",
    isLifetime: true,
    refundedAt: null,
    cancelReason: "DEVELOPER_INITIATED",
    endedAt: new Date(1773478799996),
  },
};

const receipts = new Map<string, string>();

beforeAll(async () => {
  for (const id of [LENA, MO]) await accountWithId(id);
  for (const name of names) {
    const response = await deliverRaw(read(name));
    expect([name, response.status]).toEqual([name, 200]);
    receipts.set(name, ((await response.json()) as { status: string }).status);
  }
});

test("there is a fixture for every type of event, and an expectation for every fixture", () => {
  const types = names.map((name) => (JSON.parse(read(name)) as { event: { type: string } }).event.type);
  const made = ["SNAPSHOT", "PARTIAL_REFUND", "IMPORT", "GRANT", "GRANT_ENDED"];
  const delivered = PurchaseEventType.options.filter((type) => !made.includes(type));
  expect(new Set(types)).toEqual(new Set([...types, ...delivered, ...IdentityEventType.options]));
  expect(Object.keys(RECEIPTS).toSorted()).toEqual(names.toSorted());
});

test.each(Object.entries(RECEIPTS))(
  "%s has its receipt, and the reason that is kept",
  async (name, [status, reason]) => {
    const { event } = JSON.parse(read(name)) as { event: { id: string; type: string } };
    expect(receipts.get(name)).toBe(status);
    const row = await ctx().db.billingEvent.findFirst({ where: { eventId: event.id } });
    expect(row).toMatchObject({ type: event.type, state: status, reason });
    expect(JSON.stringify(row)).not.toMatch(/example\.org|Lena|subscriber_attributes/);
  },
);

test.each(Object.entries(LINES))("the purchase of %s is folded from all of its events", async (transaction, state) => {
  const purchases = await ctx().db.purchase.findMany({ where: { originalTransactionId: transaction } });
  expect(purchases).toEqual([expect.objectContaining(state)]);
});

test("a transfer from the year 4466 counts as of now", async () => {
  const row = await ctx().db.billingEvent.findFirst({ where: { type: "TRANSFER" } });
  expect(row?.occurredAt).toEqual(row?.receivedAt);
});

test("no other purchase was made of them", async () => {
  const purchases = await ctx().db.purchase.findMany();
  expect(purchases.map(({ originalTransactionId }) => originalTransactionId).toSorted()).toEqual(
    Object.keys(LINES).toSorted(),
  );
});
