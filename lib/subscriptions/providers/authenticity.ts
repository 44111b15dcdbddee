import { createHash, timingSafeEqual } from "node:crypto";
import type { Config } from "../../config";
import { AppError } from "../../errors";
import type { Delivery } from "./provider";

const TOLERANCE_SECONDS = 300;

/**
 * Holds a delivery against what is configured: one of the Authorization values where there are any, and `isSigned`
 * where there is a secret.
 * @throws AppError webhook_not_configured where there is neither, webhook_unauthorized
 */
export function requireAuthentic(config: Config, delivery: Delivery, isSigned: (secret: string) => boolean): void {
  const { BILLING_WEBHOOK_AUTHORIZATION: allowed, BILLING_WEBHOOK_SIGNING_SECRET: secret } = config;
  if (allowed.length === 0 && secret === undefined) throw new AppError("webhook_not_configured");
  const authorized = allowed.length === 0 || isOneOf(allowed, delivery.headers.get("authorization") ?? "");
  const signed = secret === undefined || isSigned(secret);
  if (!authorized || !signed) throw new AppError("webhook_unauthorized");
}

/** Whether a time in Unix seconds, as text, lies within five minutes: a delivery cannot be replayed for long. */
export function isRecent(seconds: string | undefined, now: Date): seconds is string {
  if (seconds === undefined || !/^\d{1,12}$/.test(seconds)) return false;
  return Math.abs(now.getTime() / 1000 - Number(seconds)) <= TOLERANCE_SECONDS;
}

/** Compares with each, hashed, so that neither length nor content shows in the time it takes. */
export function isOneOf(candidates: string[], value: string): boolean {
  const wanted = sha256(value);
  return candidates.map((candidate) => timingSafeEqual(sha256(candidate), wanted)).includes(true);
}

const sha256 = (text: string) => createHash("sha256").update(text).digest();
