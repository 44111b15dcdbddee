import { z } from "zod";
import { AppError, isAppError } from "../../../errors";
import type { Config } from "../../../platform/config";
import type { ProviderEvent } from "../../events";
import { buildProviderEvent, orderOf } from "../build-event";
import { requireFields, toPastDate } from "../fields";
import type { Delivery, Products, Provider } from "../provider";
import { APPLE_ROOT_CA_G3 } from "./apple-root";
import { AppStorePayload } from "./payload";
import { claimOf } from "./precheck";
import { readOneTime, readSubscription } from "./transaction";

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
  const { verify } = await import("./signature"); // loads Apple's package, which only this provider needs
  const verified = await verify(signed, named, root, claim.environment);
  if (!verified) throw new AppError("webhook_unauthorized");
  await limits.refund("webhookFailureByIp", network);
  return verified;
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
  const { notification, renewalInfo, transaction } = event;
  const base = {
    type: notification.notificationType ?? "UNKNOWN",
    occurredAt: toPastDate(notification.signedDate, receivedAt) ?? receivedAt,
    environment: notification.data?.environment?.toUpperCase() ?? null,
    store: "APP_STORE",
    order: orderOf(receivedAt),
    purchaseId: transaction?.originalTransactionId ?? transaction?.transactionId ?? null,
    transactionId: transaction?.transactionId ?? null,
    customers: [transaction?.appAccountToken ?? renewalInfo?.appAccountToken ?? null],
  };
  if (!transaction) return buildProviderEvent(base);
  const isSubscription = transaction.type === "Auto-Renewable Subscription";
  const change = isSubscription
    ? readSubscription({ ...event, transaction }, base.occurredAt, products)
    : readOneTime({ ...event, transaction }, products);
  return buildProviderEvent({ ...base, ...change });
}
