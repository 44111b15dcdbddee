import type { SignedDataVerifier } from "@apple/app-store-server-library";
import { z } from "zod";
import { AppError, isAppError } from "../../errors";
import type { Config } from "../../platform/config";
import type { AppStoreApp } from "../../platform/config/billing";
import { readJson } from "../../platform/json";
import { CONSENT_WITHDRAWN, type Commitment, type EventFacts, type ProviderEvent } from "../events";
import { earliest } from "../fold/periods";
import { buildProviderEvent, orderOf, snapshotOf } from "./build-event";
import {
  EventId,
  entitlementsOf,
  OptionalBoolean,
  OptionalNumber,
  OptionalText,
  optional,
  requireFields,
  toDate,
  toPastDate,
} from "./fields";
import type { Delivery, Products, Provider } from "./provider";

/** A notification has some 20 KB: three signed parts, each with its chain of certificates. */
const MAX_LENGTH = 64 * 1024;
const MAX_HEADER_LENGTH = 16 * 1024;

const Header = z.object({ alg: z.literal("ES256"), x5c: z.tuple([z.string(), z.string(), z.string()]) });
const Subject = z.object({ bundleId: z.string(), environment: z.string().optional() });
const Payload = z.object({
  data: Subject.nullish(),
  summary: Subject.nullish(),
  externalPurchaseToken: Subject.nullish(),
  appData: Subject.nullish(),
});

/**
 * What a notification says of itself. Reads a signed notification without verifying any signature, which takes
 * milliseconds. Returns null if Apple cannot have signed it: by its size, its JWS header (RFC 7515, section 4.1), or the
 * last certificate of its chain, which must be the root. Proves nothing.
 */
function claimOf(signed: string, root: string): z.infer<typeof Subject> | null {
  if (signed.length > MAX_LENGTH) return null;
  const [header = "", payload = "", signature, ...rest] = signed.split(".");
  if (!signature || rest.length > 0 || header.length > MAX_HEADER_LENGTH) return null;
  const chain = readJson(Header, textOf(header))?.x5c;
  if (!chain || !Buffer.from(chain[2], "base64").equals(derOf(root))) return null;
  const { data, summary, externalPurchaseToken, appData } = readJson(Payload, textOf(payload)) ?? {};
  return data ?? summary ?? externalPurchaseToken ?? appData ?? null;
}

const textOf = (part: string) => Buffer.from(part, "base64url").toString();
/** Without parsing it: that takes as long as all else here. */
const derOf = (pem: string) => Buffer.from(pem.replace(/-----[A-Z ]+-----/g, ""), "base64");

/** Apple Root CA - G3, valid until April 30, 2039 (Apple PKI, "AppleRootCA-G3.cer"). Its SHA-256 begins with 63343abf. */
const APPLE_ROOT_CA_G3 = `\
-----BEGIN CERTIFICATE-----
MIICQzCCAcmgAwIBAgIILcX8iNLFS5UwCgYIKoZIzj0EAwMwZzEbMBkGA1UEAwwS
QXBwbGUgUm9vdCBDQSAtIEczMSYwJAYDVQQLDB1BcHBsZSBDZXJ0aWZpY2F0aW9u
IEF1dGhvcml0eTETMBEGA1UECgwKQXBwbGUgSW5jLjELMAkGA1UEBhMCVVMwHhcN
MTQwNDMwMTgxOTA2WhcNMzkwNDMwMTgxOTA2WjBnMRswGQYDVQQDDBJBcHBsZSBS
b290IENBIC0gRzMxJjAkBgNVBAsMHUFwcGxlIENlcnRpZmljYXRpb24gQXV0aG9y
aXR5MRMwEQYDVQQKDApBcHBsZSBJbmMuMQswCQYDVQQGEwJVUzB2MBAGByqGSM49
AgEGBSuBBAAiA2IABJjpLz1AcqTtkyJygRMc3RCV8cWjTnHcFBbZDuWmBSp3ZHtf
TjjTuxxEtX/1H7YyYl3J6YRbTzBPEVoA/VhYDKX1DyxNB0cTddqXl5dvMVztK517
IDvYuVTZXpmkOlEKMaNCMEAwHQYDVR0OBBYEFLuw3qFYM4iapIqZ3r6966/ayySr
MA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgEGMAoGCCqGSM49BAMDA2gA
MGUCMQCD6cHEFl4aXTQY2e3v9GwOAEZLuN+yRhHFD/3meoyhpmvOwgPUnPWTxnS4
at+qIxUCMG1mihDK1A3UT82NQz60imOlM27jbdoXt2QfyFMm+YhidDkLF1vLUagM
6BgD56KyKA==
-----END CERTIFICATE-----
`;

const SignedBody = z.object({ signedPayload: z.string() });

/** App Store Server Notifications, version 2. */
export const appStore: Provider = {
  name: "app-store",
  recognizes: (delivery, config) => config.BILLING_APP_STORE_APPS.length > 0 && signedPayloadOf(delivery) !== null,
  authenticate,
  eventId: (body) => requireFields(AppStorePayload, body).notification.notificationUUID,
  toPayload: (body) => requireFields(AppStorePayload, body),
  read,
};

/**
 * The signature is in the body: without a JSON object that has one, nothing is signed. To verify one takes milliseconds, so
 * what cannot be Apple's is refused first, and failures are limited by network.
 */
async function authenticate(config: Config, delivery: Delivery): Promise<unknown> {
  const apps = config.BILLING_APP_STORE_APPS;
  if (apps.length === 0) throw new AppError("webhook_not_configured");
  const signed = signedPayloadOf(delivery);
  const root = config.BILLING_APP_STORE_ROOT_CA ?? APPLE_ROOT_CA_G3;
  const claim = signed === null ? null : claimOf(signed, root);
  if (signed === null || claim === null) throw new AppError("webhook_unauthorized");
  const named = apps.filter(({ bundleId }) => bundleId === claim.bundleId);
  if (named.length === 0) throw new AppError("webhook_unauthorized");
  const { limits, network } = delivery;
  await limits.consume("webhookFailureByIp", network);
  const verified = await verify(named, root, claim.environment, (verifier) => decodeSigned(verifier, signed));
  if (!verified) throw new AppError("webhook_unauthorized");
  await limits.refund("webhookFailureByIp", network);
  return verified;
}

/**
 * Verifies what the App Store has signed for one of the apps, in production or the sandbox, with the chain of certificates
 * that it contains. What Xcode and local tests send is not signed by Apple. Makes no request for revoked certificates. Returns
 * null if Apple did not sign it for any of them. `claimed`: the environment that it names, if it names one.
 */
async function verify<T>(
  apps: readonly AppStoreApp[],
  root: string,
  claimed: string | undefined,
  decode: (verifier: SignedDataVerifier) => Promise<T>,
): Promise<T | null> {
  // Loaded at the first use, because only this provider needs it.
  const { Environment, SignedDataVerifier, VerificationException } = await import("@apple/app-store-server-library");
  for (const { appleId, bundleId } of apps) {
    for (const environment of [Environment.PRODUCTION, Environment.SANDBOX]) {
      if (claimed !== undefined && claimed !== environment) continue;
      const verifier = new SignedDataVerifier([Buffer.from(root)], false, environment, bundleId, appleId);
      try {
        return await decode(verifier);
      } catch (error) {
        if (!(error instanceof VerificationException)) throw error;
      }
    }
  }
  return null;
}

/**
 * Verifies the parts of a status of the App Store Server API, and returns them as the payload of a notification of the type
 * IMPORT; null if Apple did not sign them for one of the apps. `status` is the response's, not signed. A one-time purchase has
 * neither a status nor renewal information.
 */
export async function verifyStatus(
  { BILLING_APP_STORE_APPS: apps, BILLING_APP_STORE_ROOT_CA: root = APPLE_ROOT_CA_G3 }: Config,
  status: number | null,
  { transaction, renewal }: { transaction: string; renewal?: string },
) {
  const decoded = await verify(apps, root, undefined, async (verifier) => ({
    transaction: await verifier.verifyAndDecodeTransaction(transaction),
    renewalInfo: renewal ? await verifier.verifyAndDecodeRenewalInfo(renewal) : null,
  }));
  if (!decoded) return null;
  const { bundleId, environment, signedDate } = decoded.transaction;
  const data = { bundleId, environment, status };
  return { notification: { notificationUUID: "", notificationType: "IMPORT", signedDate, data }, ...decoded };
}

/** Verifies a notification as the webhook does; null if Apple did not sign it for one of the apps. */
export async function verifyNotification(
  { BILLING_APP_STORE_APPS: apps, BILLING_APP_STORE_ROOT_CA: root = APPLE_ROOT_CA_G3 }: Config,
  signed: string,
) {
  const claim = claimOf(signed, root);
  const named = apps.filter(({ bundleId }) => bundleId === claim?.bundleId);
  return verify(named, root, claim?.environment, (verifier) => decodeSigned(verifier, signed));
}

async function decodeSigned(verifier: SignedDataVerifier, signed: string) {
  const notification = await verifier.verifyAndDecodeNotification(signed);
  const { signedTransactionInfo: transaction, signedRenewalInfo: renewal } = notification.data ?? {};
  const { signedAppTransactionInfo: app } = notification.appData ?? {};
  return {
    notification,
    appTransaction: app ? await verifier.verifyAndDecodeAppTransaction(app) : null,
    transaction: transaction ? await verifier.verifyAndDecodeTransaction(transaction) : null,
    renewalInfo: renewal ? await verifier.verifyAndDecodeRenewalInfo(renewal) : null,
  };
}

function signedPayloadOf(delivery: Delivery): string | null {
  try {
    return SignedBody.safeParse(delivery.json()).data?.signedPayload ?? null;
  } catch (error) {
    if (isAppError(error)) return null;
    throw error;
  }
}

function read(body: unknown, receivedAt: Date, products: Products): ProviderEvent {
  const event = requireFields(AppStorePayload, body);
  const { appTransaction, notification, renewalInfo, transaction } = event;
  const base = {
    type: notification.notificationType ?? "UNKNOWN",
    occurredAt: toPastDate(notification.signedDate, receivedAt) ?? receivedAt,
    environment: (notification.data ?? notification.appData)?.environment?.toUpperCase() ?? null,
    store: "APP_STORE",
    order: orderOf(receivedAt),
    purchaseId: transaction?.originalTransactionId ?? transaction?.transactionId ?? null,
    transactionId: transaction?.transactionId ?? null,
    customers: [transaction?.appAccountToken ?? renewalInfo?.appAccountToken ?? null],
  };
  if (appTransaction && notification.notificationType === CONSENT_WITHDRAWN) {
    const { appAccountToken, appTransactionId } = appTransaction;
    return buildProviderEvent({ ...base, transactionId: appTransactionId, customers: [appAccountToken] });
  }
  if (!transaction) return buildProviderEvent(base);
  const isSubscription = transaction.type === "Auto-Renewable Subscription";
  const change = isSubscription
    ? readSubscription({ ...event, transaction }, base.occurredAt, products)
    : readOneTime({ ...event, transaction }, products);
  return buildProviderEvent({ ...base, ...change });
}

/** `revocationPercentage` is in thousandths of a percent (App Store Server Notifications, "revocationPercentage"). */
const WHOLE_PERCENTAGE = 100_000;

/** JWSTransactionDecodedPayload. Times are in milliseconds since 1970. Other fields are not stored. */
const Transaction = z.object({
  transactionId: OptionalText,
  originalTransactionId: OptionalText,
  productId: OptionalText,
  type: OptionalText,
  purchaseDate: OptionalNumber,
  originalPurchaseDate: OptionalNumber,
  expiresDate: OptionalNumber,
  appAccountToken: OptionalText,
  inAppOwnershipType: OptionalText,
  offerType: OptionalNumber,
  offerDiscountType: OptionalText,
  revocationDate: OptionalNumber,
  revocationType: OptionalText,
  revocationPercentage: z.int().min(0).max(WHOLE_PERCENTAGE).nullable().catch(null),
  billingPlanType: OptionalText,
  commitmentInfo: optional(
    z.object({
      billingPeriodNumber: z.int().positive(),
      totalBillingPeriods: z.int().positive(),
      commitmentExpiresDate: z.number(),
      commitmentPrice: z.int().nullable().catch(null),
    }),
  ),
  currency: OptionalText,
  appTransactionId: OptionalText,
});
type Transaction = z.infer<typeof Transaction>;

/** JWSRenewalInfoDecodedPayload. */
const RenewalInfo = z.object({
  autoRenewProductId: OptionalText,
  autoRenewStatus: OptionalNumber,
  expirationIntent: OptionalNumber,
  gracePeriodExpiresDate: OptionalNumber,
  isInBillingRetryPeriod: OptionalBoolean,
  renewalDate: OptionalNumber,
  appAccountToken: OptionalText,
  commitmentInfo: optional(z.object({ commitmentAutoRenewStatus: OptionalNumber })),
});
type RenewalInfo = z.infer<typeof RenewalInfo>;

/** JWSAppTransactionDecodedPayload. Apple documents no `appAccountToken` in it. */
const AppTransaction = z.object({ appTransactionId: OptionalText, appAccountToken: OptionalText });

/** responseBodyV2DecodedPayload, with its transaction and its renewal information decoded. */
const AppStorePayload = z.object({
  notification: z.object({
    notificationUUID: EventId,
    notificationType: OptionalText,
    subtype: OptionalText,
    signedDate: OptionalNumber,
    data: optional(z.object({ environment: OptionalText, bundleId: OptionalText, status: OptionalNumber })),
    appData: optional(z.object({ environment: OptionalText, bundleId: OptionalText })),
  }),
  appTransaction: optional(AppTransaction),
  transaction: optional(Transaction),
  renewalInfo: optional(RenewalInfo),
});
type Event = z.infer<typeof AppStorePayload> & { transaction: Transaction };
type NotificationEffect = { type: string; facts: Partial<EventFacts> };

/** "notificationType" and "subtype". Types that are not here, such as TEST and PRICE_INCREASE, change no purchase. */
const TYPES = new Map([
  ["SUBSCRIBED", "INITIAL_PURCHASE"],
  ["SUBSCRIBED.RESUBSCRIBE", "RENEWAL"],
  ["DID_RENEW", "RENEWAL"],
  ["DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_DISABLED", "CANCELLATION"],
  ["DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_ENABLED", "UNCANCELLATION"],
  ["DID_CHANGE_RENEWAL_PREF", "PRODUCT_CHANGE"],
  ["OFFER_REDEEMED", "SNAPSHOT"],
  ["DID_FAIL_TO_RENEW", "BILLING_ISSUE"],
  ["GRACE_PERIOD_EXPIRED", "BILLING_ISSUE"],
  ["EXPIRED", "EXPIRATION"],
  ["REVOKE", "EXPIRATION"],
  ["REFUND", "CANCELLATION"],
  ["REFUND_REVERSED", "REFUND_REVERSED"],
  ["RENEWAL_EXTENDED", "SUBSCRIPTION_EXTENDED"],
  ["IMPORT", "IMPORT"],
  ["SNAPSHOT", "SNAPSHOT"],
]);
/** "expirationIntent". */
const END_REASONS = new Map([
  [1, "UNSUBSCRIBE"],
  [2, "BILLING_ERROR"],
  [3, "PRICE_INCREASE"],
]);
/** "status". */
const STATUS = { active: 1, expired: 2, billingRetry: 3, gracePeriod: 4, revoked: 5 } as const;

/** A notification about a subscription. Undefined: it changes nothing. */
function readSubscription(event: Event, occurredAt: Date, products: Products): NotificationEffect | undefined {
  const { notification, renewalInfo, transaction } = event;
  const { notificationType: name, subtype } = notification;
  const type = TYPES.get(`${name}.${subtype}`) ?? TYPES.get(name ?? "");
  if (!type) return undefined;
  const sold = soldFacts(transaction, products);
  const isPartial = name === "REFUND" && isPartialRefund(transaction);
  if (isOfOtherPeriod(event)) {
    // It leaves the current period as it is. One that is over or not paid for has nothing to record.
    if (isPartial || (notification.data?.status ?? STATUS.active) !== STATUS.active)
      return { type: `${name}.OTHER_PERIOD`, facts: {} };
    const expiresAt = toDate(renewalInfo?.renewalDate ?? null);
    const refund = { isRefund: name === "REFUND", cancelReason: name === "REFUND" ? "CUSTOMER_SUPPORT" : null };
    return { type, facts: { entitlementIds: sold.entitlementIds, expiresAt, ...refund } };
  }
  return { type: isPartial ? "PARTIAL_REFUND" : type, facts: { ...sold, ...stateOf(event, occurredAt) } };
}

/** A refund of a part of the price: of the time that remains, of what was not consumed, or of some of the items. */
const isPartialRefund = ({ revocationType, revocationPercentage }: Transaction) =>
  revocationType === "REFUND_PRORATED" && (revocationPercentage ?? 0) < WHOLE_PERCENTAGE;

/**
 * A refund and its reversal name a transaction of any period. `renewalDate` is the end of the newest, which may be before
 * that of a longer one that it has replaced.
 */
function isOfOtherPeriod({ notification, renewalInfo, transaction }: Event): boolean {
  const { data, notificationType: name } = notification;
  if (name !== "REFUND" && name !== "REFUND_REVERSED") return false;
  const [end, newest] = [transaction.expiresDate, renewalInfo?.renewalDate ?? null];
  if (end === null || newest === null) return false;
  return end < newest || (end > newest && name === "REFUND" && data?.status === STATUS.active);
}

function soldFacts(transaction: Transaction, products: Products): Partial<EventFacts> {
  const { appTransactionId, inAppOwnershipType, productId, revocationPercentage, revocationType } = transaction;
  return {
    productId,
    entitlementIds: entitlementsOf(products, [{ ids: [productId], metadataEntitlementIds: null }]),
    isFamilyShare: inAppOwnershipType === "FAMILY_SHARED",
    revocationType,
    revocationPercentage,
    appTransactionId,
  };
}

/** "Supporting monthly subscriptions with a 12-month commitment": each period is billed and renews as any other. */
function commitmentOf({ commitmentInfo, currency }: Transaction, renewalInfo: RenewalInfo | null): Commitment | null {
  if (!commitmentInfo) return null;
  const { billingPeriodNumber, commitmentExpiresDate, commitmentPrice, totalBillingPeriods } = commitmentInfo;
  const status = renewalInfo?.commitmentInfo?.commitmentAutoRenewStatus ?? null;
  return {
    billingPeriodNumber,
    totalBillingPeriods,
    commitmentExpiresAt: toDate(commitmentExpiresDate),
    commitmentPrice,
    commitmentCurrency: currency,
    commitmentWillRenew: status === null ? null : status === 1,
  };
}

/** The subscription's whole state: the newest transaction, the renewal information and the status. */
function stateOf(event: Event, occurredAt: Date): Partial<EventFacts> {
  const { renewalInfo, transaction } = event;
  const status = statusOf(event, occurredAt);
  const expiresAt = toDate(transaction.expiresDate);
  const revokedAt = status === STATUS.revoked ? (toDate(transaction.revocationDate) ?? occurredAt) : null;
  const isShareEnded =
    event.notification.notificationType === "REVOKE" || transaction.revocationType === "FAMILY_REVOKE";
  const isRefund = revokedAt !== null && !isShareEnded;
  const hasIssue = status === STATUS.billingRetry || status === STATUS.gracePeriod;
  const revokedFrom = revokedAt && earliest(expiresAt, revokedAt); // a refund may follow the end
  const endedAt = revokedFrom ?? (status === STATUS.expired ? (expiresAt ?? occurredAt) : null);
  return {
    expiresAt: revokedFrom ?? expiresAt,
    periodType: periodTypeOf(transaction),
    newProductId: renewalInfo?.autoRenewProductId ?? null,
    gracePeriodEndsAt: status === STATUS.gracePeriod ? toDate(renewalInfo?.gracePeriodExpiresDate ?? null) : null,
    billingPlanType: transaction.billingPlanType,
    commitment: commitmentOf(transaction, renewalInfo),
    isRefund,
    cancelReason: isRefund ? "CUSTOMER_SUPPORT" : renewalInfo?.autoRenewStatus === 0 ? "UNSUBSCRIBE" : null,
    expirationReason: revokedAt
      ? "CUSTOMER_SUPPORT"
      : (END_REASONS.get(renewalInfo?.expirationIntent ?? 0) ?? "UNKNOWN"),
    snapshot: snapshotOf({
      startedAt: toDate(transaction.originalPurchaseDate),
      periodStartsAt: toDate(transaction.purchaseDate),
      unsubscribedAt: renewalInfo?.autoRenewStatus === 0 ? occurredAt : null,
      billingIssueDetectedAt: hasIssue ? occurredAt : null,
      refundedAt: isRefund ? revokedAt : null,
      endedAt,
    }),
  };
}

/** The status that the notification has, or as of its time. A partial refund leaves access until the end of the period. */
function statusOf({ notification, renewalInfo, transaction }: Event, occurredAt: Date): number {
  const isPartial = isPartialRefund(transaction);
  const given = notification.data?.status ?? null;
  if (given !== null && !(isPartial && given === STATUS.revoked)) return given;
  if (transaction.revocationDate !== null && !isPartial) return STATUS.revoked;
  if ((transaction.expiresDate ?? 0) > occurredAt.getTime()) return STATUS.active;
  if ((renewalInfo?.gracePeriodExpiresDate ?? 0) > occurredAt.getTime()) return STATUS.gracePeriod;
  return renewalInfo?.isInBillingRetryPeriod === true ? STATUS.billingRetry : STATUS.expired;
}

function periodTypeOf({ offerDiscountType, offerType }: Transaction): string {
  if (offerDiscountType === "FREE_TRIAL") return "TRIAL";
  return offerType === 1 ? "INTRO" : "NORMAL";
}

/** A notification about a one-time purchase. Undefined: it changes nothing. */
function readOneTime({ notification, transaction }: Event, products: Products): NotificationEffect | undefined {
  const purchasedAt = toDate(transaction.purchaseDate);
  const facts = { ...soldFacts(transaction, products), purchasedAt, expiresAt: toDate(transaction.expiresDate) };
  switch (notification.notificationType) {
    case "ONE_TIME_CHARGE":
      return { type: "NON_RENEWING_PURCHASE", facts };
    case "REFUND":
    case "REVOKE": {
      if (isPartialRefund(transaction)) {
        return { type: "PARTIAL_REFUND", facts: { ...facts, snapshot: snapshotOf({}) } };
      }
      const snapshot = snapshotOf({ refundedAt: toDate(transaction.revocationDate ?? notification.signedDate) });
      const refund = { cancelReason: "CUSTOMER_SUPPORT", isRefund: true, expiresAt: null, snapshot };
      return { type: "CANCELLATION", facts: { ...facts, ...refund } };
    }
    case "REFUND_REVERSED":
      return { type: "REFUND_REVERSED", facts };
    case "SNAPSHOT":
    case "IMPORT": {
      const refundedAt = isPartialRefund(transaction) ? null : toDate(transaction.revocationDate);
      const refund = refundedAt && { cancelReason: "CUSTOMER_SUPPORT", isRefund: true };
      const snapshot = { ...snapshotOf({ refundedAt }), isRefundKnown: true };
      return { type: notification.notificationType, facts: { ...facts, ...refund, snapshot } };
    }
    default:
      return undefined;
  }
}
