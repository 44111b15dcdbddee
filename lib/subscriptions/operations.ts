import { SignJWT } from "jose";
import type { Context } from "../context";
import { operation } from "../operation";
import { idOr, MAX_ID } from "../platform/db/ids";
import { parseJson } from "../platform/http/body";
import { serializedResponse } from "../platform/http-message";
import { currentSigningKey } from "../platform/keys/signing-keys";
import { PageQuery, readPage } from "../platform/lists";
import { type BillingRules, isConfiguredTester, readStatusRules } from "./entitlement-rules";
import type { PurchaseEventType } from "./events";
import { foldPurchase } from "./fold/fold-purchase";
import { receiveWebhook } from "./inbox/receive-webhook";
import { revenueCat } from "./providers/revenuecat";
import type { Purchase } from "./purchase-state";
import { endReplacedPurchases } from "./replacement";
import {
  DeliveryReceipt,
  type Entitlement,
  EntitlementToken,
  Purchases,
  StatusQuery,
  SubscriptionStatus,
  TokenQuery,
  WebhookQuery,
} from "./schema";
import { accountStatus } from "./status/account-status";
import { purchaseStatus } from "./status/purchase-status";
import { readEntitlingPurchases, readSubscriptionStatus } from "./status/read-status";
import { requestStatus, serializeStatus } from "./status/request-status";

/** RevenueCat, "Webhooks", Event Types and Fields. */
const REVENUECAT = {
  api_version: "1.0",
  event: {
    id: "12345678-1234-1234-1234-123456789012",
    type: "INITIAL_PURCHASE",
    app_user_id: "0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10",
    original_app_user_id: "0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10",
    aliases: ["0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10"],
    event_timestamp_ms: 1795165200000,
    purchased_at_ms: 1795165200000,
    expiration_at_ms: 1797757200000,
    environment: "PRODUCTION",
    store: "APP_STORE",
    product_id: "com.example.core.monthly",
    entitlement_ids: ["pro"],
    period_type: "NORMAL",
    transaction_id: "2000000123456789",
    original_transaction_id: "2000000123456789",
  },
};

/** The id of the purchase that RevenueCat's event is about. */
const PURCHASE_ID = "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b21";

/** standardwebhooks.com, "Payload structure". */
const STANDARD = {
  type: "subscription.initial_purchase",
  timestamp: "2026-11-20T09:00:00Z",
  data: {
    customerId: "0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10",
    environment: "PRODUCTION",
    store: "STRIPE",
    transactionId: "sub_1Q2W3E4R5T",
    purchasedAt: "2026-11-20T09:00:00Z",
    expiresAt: "2026-12-20T09:00:00Z",
    productId: "com.example.core.monthly",
    entitlementIds: ["pro"],
    periodType: "NORMAL",
  },
};

/** One-time purchases have neither a period nor an expiry. These coins give no entitlement. */
const COINS = {
  event: {
    ...REVENUECAT.event,
    product_id: "com.example.coins.100",
    entitlement_ids: [],
    period_type: null,
    expiration_at_ms: null,
    original_transaction_id: "2000000123456790",
  },
};

const EXAMPLE_TIME = new Date("2026-11-21T08:00:00Z");
const EXAMPLE_RULES = { staleLeewaySeconds: 3600, isSandboxEntitled: false, managementUrls: new Map() };

function examplePurchase(type: PurchaseEventType, delivery: { event: object }): Purchase {
  const { store, environment, facts } = revenueCat.read(delivery, EXAMPLE_TIME);
  const key = { id: PURCHASE_ID, provider: revenueCat.name, store: store ?? "", environment: environment ?? "" };
  return { ...foldPurchase([{ id: "1", type, ...facts }]), ...key };
}

const toJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const { purchaseId: _, ...coinsStatus } = purchaseStatus(
  examplePurchase("NON_RENEWING_PURCHASE", COINS),
  EXAMPLE_TIME,
  EXAMPLE_RULES,
);
const exampleStatus = (purchases: Purchase[]) =>
  toJson(SubscriptionStatus.parse(accountStatus(purchases, EXAMPLE_TIME, EXAMPLE_RULES)));

export const subscriptionOperations = {
  receiveBillingEvent: operation({
    id: "receiveBillingEvent",
    summary: "Receive a billing provider's webhook",
    description:
      "Receives webhooks from RevenueCat, Stripe, Paddle Billing, the App Store, or any sender that follows Standard Webhooks: from several at once, which are recognized by their signatures. That of the App Store is in the body. A delivery is authenticated by its signature, by its Authorization header, or by both, as configured. Deliveries may be repeated, late and out of order. The provider must retry a delivery unless the response is 200.",
    security: [
      { revenueCatSignature: [] },
      { webhookAuthorization: [] },
      { revenueCatSignature: [], webhookAuthorization: [] },
      { standardWebhooksSignature: [] },
      { standardWebhooksSignature: [], webhookAuthorization: [] },
      { stripeSignature: [] },
      { paddleSignature: [] },
      {},
    ],
    headers: ["WebhookId", "WebhookTimestamp"],
    bodyFormat: "raw",
    maxBodyBytes: 256 * 1024,
    query: WebhookQuery,
    errors: [
      "malformed_json",
      "validation_failed",
      "webhook_unauthorized",
      "webhook_not_configured",
      "billing_api_not_configured",
      "rate_limited",
    ],
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: {
            anyOf: [
              { $ref: "#/components/schemas/RevenueCatDelivery" },
              { $ref: "#/components/schemas/StandardWebhook" },
              { $ref: "#/components/schemas/StripeEvent" },
              { $ref: "#/components/schemas/PaddleEvent" },
              { $ref: "#/components/schemas/AppStoreNotification" },
            ],
          },
          examples: { RevenueCat: REVENUECAT, "Standard Webhooks": STANDARD },
        },
      },
    },
    response: {
      description: "The event was stored, or does not need to be.",
      schema: DeliveryReceipt,
      examples: {
        Processed: { status: "processed", eventId: REVENUECAT.event.id },
        Duplicate: { status: "duplicate", eventId: REVENUECAT.event.id },
        Ignored: { status: "ignored", eventId: REVENUECAT.event.id },
      },
    },
    run: ({ ctx, bytes, ip, query, request: { headers } }) =>
      receiveWebhook(ctx, { ...query, raw: bytes, headers, network: ip, json: () => parseJson(bytes) }),
  }),

  listPurchases: operation({
    id: "listPurchases",
    summary: "List the caller's purchases",
    description:
      "Lists all purchases of the account, newest first: subscriptions, and one-time purchases with or without entitlements, which have no `periodType`. A purchase and its renewals are one entry. One that gives no entitlement, such as coins, has the status `none`, or `revoked` after a refund.",
    session: true,
    query: PageQuery,
    response: {
      description: "A page of purchases.",
      schema: Purchases,
      examples: {
        Coins: {
          purchases: [
            toJson({
              purchaseId: PURCHASE_ID,
              originalTransactionId: COINS.event.original_transaction_id,
              ...coinsStatus,
            }),
          ],
          nextCursor: null,
        },
      },
    },
    run: ({ ctx, principal, query }) => listPurchases(ctx, principal.account.id, query),
  }),

  getSubscriptionStatus: operation({
    id: "getSubscriptionStatus",
    summary: "Get the caller's subscription status",
    description:
      "Check `isActive` if there is one tier, and `entitlements[].isActive` if there are several. The other fields are for display. The top-level fields describe the best subscription. `entitlements` is the union of all subscriptions, each with the state of the purchase that gives it. One-time purchases without entitlements, such as coins, are only in `/api/subscription/purchases`.\n\nAfter a purchase, `fresh=1` asks the provider before its event has arrived. With `since` and `wait`, the response comes once the status differs; five requests of an account may wait at a time.",
    session: true,
    query: StatusQuery,
    errors: ["rate_limited", "overloaded"],
    writes: "raw",
    response: {
      description: "The status at the time `checkedAt`. The `ETag` stays the same until another field changes.",
      schema: SubscriptionStatus,
      headers: ["ETag"],
      examples: {
        "A monthly subscription": exampleStatus([examplePurchase("INITIAL_PURCHASE", REVENUECAT)]),
        "No subscription": exampleStatus([]),
      },
    },
    run: async ({ ctx, principal, query, request }) => {
      const { json, opaqueTag } = serializeStatus(await requestStatus(ctx, principal, query, request));
      return serializedResponse(200, json, { ETag: `W/"${opaqueTag}"` });
    },
  }),

  getEntitlementToken: operation({
    id: "getEntitlementToken",
    summary: "Get the caller's entitlements as a signed token",
    description:
      "Returns a JWT that an app checks offline. Its header has `typ` `entitlements+jwt`. Its claims are `iss`, `sub` (the account), `aud`, `iat`, `exp`, with `jkt` also `cnf.jkt`, and `entitlements`: the active ones, each with `id`, `productId` and `expiresAt` in seconds since 1970, or null if it does not expire. One that will renew has `BILLING_TOKEN_GRACE_SECONDS` more.",
    session: true,
    query: TokenQuery,
    limit: "entitlementTokenByAccount",
    response: {
      description: "The token, and when it expires.",
      schema: EntitlementToken,
      examples: {
        "A token": {
          token:
            "eyJhbGciOiJFZERTQSIsInR5cCI6ImVudGl0bGVtZW50cytqd3QifQ.eyJhdWQiOiJjb20uZXhhbXBsZS5jb3JlIn0.c2lnbmF0dXJl",
          expiresAt: "2026-11-28T08:00:00.000Z",
        },
      },
    },
    run: ({ ctx, principal, query }) => issueEntitlementToken(ctx, principal, query),
  }),
};

type Deps = Pick<Context, "billing" | "config" | "db" | "dbNow" | "log" | "now" | "reconciler">;

/**
 * A page of an account's purchases, newest first: subscriptions, and one-time purchases with or without entitlements. Links
 * purchases that name the account and were stored before it existed. @throws AppError invalid_query
 */
export async function listPurchases(
  { config, db, now }: Pick<Context, "db" | "now"> & { config: BillingRules },
  accountId: string,
  page: PageQuery,
): Promise<Purchases> {
  const { purchases: entitling } = await readEntitlingPurchases(db, accountId);
  const ended = new Map(endReplacedPurchases(entitling).map((purchase) => [purchase.id, purchase]));
  const { entries, nextCursor } = await readPage("purchases", page, ({ after, take }) =>
    db.purchase.findMany({ where: { accountId, id: { lt: idOr(MAX_ID, after) } }, orderBy: { id: "desc" }, take }),
  );
  const [at, rules] = [now(), (await readStatusRules(db, { config, now }, [...entries]))(accountId)];
  return {
    purchases: entries.map((purchase) => ({
      ...purchaseStatus(ended.get(purchase.id) ?? purchase, at, rules),
      purchaseId: purchase.id,
      originalTransactionId: purchase.originalTransactionId,
    })),
    nextCursor,
  };
}

/**
 * Returns the account's active entitlements as a signed JWT (RFC 7519, RFC 8037), which an app verifies offline. With
 * `jkt`, the token is for the holder of that key (RFC 7800, section 3.1; RFC 9449, section 6.1).
 * @throws AppError unavailable
 */
async function issueEntitlementToken(
  ctx: Deps,
  principal: Parameters<typeof readSubscriptionStatus>[1],
  { audience, jkt }: TokenQuery,
): Promise<EntitlementToken> {
  const { entitlements, checkedAt } = await readSubscriptionStatus(ctx, principal);
  const { BILLING_TOKEN_GRACE_SECONDS: grace, BILLING_TOKEN_TTL_SECONDS: ttl, baseUrl } = ctx.config;
  const issuedAt = toSeconds(checkedAt);
  const expiresAt = issuedAt + ttl;
  const testerUntil = await readTesterEnd(ctx, principal.account.id, entitlements);
  const active = entitlements
    .filter(({ isActive }) => isActive)
    .map((entitlement) => claimOf(entitlement, grace, testerUntil));
  const { kid, key } = await currentSigningKey(ctx);
  const token = await new SignJWT({ entitlements: active, ...(jkt === undefined ? {} : { cnf: { jkt } }) })
    // The type keeps other JWTs of this issuer from being taken for one (RFC 8725, section 3.11).
    .setProtectedHeader({ alg: "EdDSA", typ: "entitlements+jwt", kid })
    .setIssuer(baseUrl)
    .setSubject(principal.account.id)
    .setAudience(audience)
    .setIssuedAt(issuedAt)
    .setExpirationTime(expiresAt)
    .sign(key);
  return { token, expiresAt: new Date(expiresAt * 1000) };
}

/** When the account stops being a sandbox tester; null if it does not, or if none of its entitlements depends on it. */
async function readTesterEnd({ config, db }: Deps, accountId: string, entitlements: readonly Entitlement[]) {
  const isTest = entitlements.some(({ isActive, isSandbox }) => isActive && isSandbox);
  if (!isTest || isConfiguredTester(config, accountId)) return null;
  return (
    (await db.account.findUnique({ where: { id: accountId }, select: { sandboxUntil: true } }))?.sandboxUntil ?? null
  );
}

/**
 * An entitlement that will renew has a grace, because an app that is offline cannot learn of the renewal. One of a sandbox
 * purchase ends when the account stops being a tester.
 */
function claimOf(
  { id, productId, expiresAt, isSandbox, willRenew }: Entitlement,
  graceSeconds: number,
  testerUntil: Date | null,
) {
  const end = expiresAt && toSeconds(expiresAt) + (willRenew ? graceSeconds : 0);
  if (!isSandbox || testerUntil === null) return { id, productId, expiresAt: end };
  return { id, productId, expiresAt: Math.min(end ?? Number.POSITIVE_INFINITY, toSeconds(testerUntil)) };
}

const toSeconds = (time: Date) => Math.floor(time.getTime() / 1000);
