import { AppError } from "../../errors";
import type { Config } from "../../platform/config";
import { isSigned, matchesAny } from "../../platform/webhook-signatures";
import type { Delivery } from "./provider";

/**
 * Authenticates a delivery by what is configured: the Authorization header, the signature, or both.
 * @throws AppError webhook_not_configured if neither is configured, webhook_unauthorized
 */
export function requireAuthentic(
  scheme: Parameters<typeof isSigned>[0],
  config: Config,
  delivery: Delivery,
  now: Date,
): void {
  const { BILLING_WEBHOOK_AUTHORIZATION: allowed, BILLING_WEBHOOK_SIGNING_SECRET: secret } = config;
  if (allowed.length === 0 && secret === undefined) throw new AppError("webhook_not_configured");
  const authorized = allowed.length === 0 || matchesAny(allowed, delivery.headers.get("authorization") ?? "");
  const signed = secret === undefined || isSigned(scheme, delivery, [secret], now);
  if (!authorized || !signed) throw new AppError("webhook_unauthorized");
}
