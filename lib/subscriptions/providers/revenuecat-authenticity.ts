import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { Config } from "../../config";
import { AppError } from "../../errors";
import type { Delivery } from "./provider";

const TOLERANCE_SECONDS = 300;

/**
 * Whether a delivery is RevenueCat's: by the Authorization value set in its dashboard, by the signature over time
 * and body, by both where both are configured (RevenueCat, "Webhooks", Security and Authorization).
 * @throws AppError webhook_not_configured, webhook_unauthorized
 */
export function authenticateRevenueCat(config: Config, delivery: Delivery, now: Date): void {
  const { BILLING_WEBHOOK_AUTHORIZATION: allowed, BILLING_WEBHOOK_SIGNING_SECRET: secret } = config;
  if (allowed.length === 0 && secret === undefined) throw new AppError("webhook_not_configured");
  const authorized = allowed.length === 0 || isOneOf(allowed, delivery.headers.get("authorization") ?? "");
  const signed = secret === undefined || isSigned(secret, delivery, now);
  if (!authorized || !signed) throw new AppError("webhook_unauthorized");
}

/** `X-RevenueCat-Webhook-Signature: t=<unix seconds>,v1=<hex>[,v1=…]`, HMAC-SHA256 over `<t>.<body>`. */
function isSigned(secret: string, { raw, headers }: Delivery, now: Date): boolean {
  const fields = (headers.get("x-revenuecat-webhook-signature") ?? "").split(",").map((field) => field.trim());
  const at = fields.find((field) => /^t=\d{1,12}$/.test(field))?.slice(2);
  if (at === undefined || Math.abs(now.getTime() / 1000 - Number(at)) > TOLERANCE_SECONDS) return false;
  const expected = createHmac("sha256", secret).update(`${at}.`).update(raw).digest("hex");
  const given = fields.filter((field) => field.startsWith("v1=")).map((field) => field.slice(3).toLowerCase());
  return isOneOf(given, expected);
}

/** Compares with each, hashed, so that neither length nor content shows in the time it takes. */
function isOneOf(candidates: string[], value: string): boolean {
  const wanted = sha256(value);
  return candidates.map((candidate) => timingSafeEqual(sha256(candidate), wanted)).includes(true);
}

const sha256 = (text: string) => createHash("sha256").update(text).digest();
