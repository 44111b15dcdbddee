import { z } from "zod";
import { AppError, isAppError } from "../../../errors";
import type { Config } from "../../../platform/config";
import type { ProviderEvent } from "../../events";
import { buildProviderEvent, orderOf } from "../build-event";
import { requireFields, toPastDate } from "../fields";
import type { Delivery, Products, Provider } from "../provider";
import { AppStorePayload } from "./payload";
import { readOneTime, readSubscription } from "./transaction";

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

/** What a notification says of itself before its signature is verified. */
type Claim = { bundleId: string; environment: string | undefined };

/**
 * Reads a signed notification without verifying any signature, which takes milliseconds. Returns null if Apple cannot have
 * signed it: by its size, its JWS header (RFC 7515, section 4.1), or the last certificate of its chain, which must be the
 * root. Proves nothing.
 */
function claimOf(signed: string, root: string): Claim | null {
  if (signed.length > MAX_LENGTH) return null;
  const [header = "", payload = "", signature, ...rest] = signed.split(".");
  if (!signature || rest.length > 0 || header.length > MAX_HEADER_LENGTH) return null;
  const chain = decode(Header, header)?.x5c;
  if (!chain || !Buffer.from(chain[2], "base64").equals(derOf(root))) return null;
  const { data, summary, externalPurchaseToken, appData } = decode(Payload, payload) ?? {};
  const subject = data ?? summary ?? externalPurchaseToken ?? appData;
  return subject ? { bundleId: subject.bundleId, environment: subject.environment } : null;
}

/** Without parsing it: that takes as long as all else here. */
const derOf = (pem: string) => Buffer.from(pem.replace(/-----[A-Z ]+-----/g, ""), "base64");

function decode<Value>(schema: z.ZodType<Value>, part: string): Value | null {
  try {
    return schema.safeParse(JSON.parse(Buffer.from(part, "base64url").toString())).data ?? null;
  } catch {
    return null; // not JSON
  }
}

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
