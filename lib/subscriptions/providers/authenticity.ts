import { createHash, timingSafeEqual } from "node:crypto";
import type { Config } from "../../config";
import { AppError } from "../../errors";
import type { Delivery } from "./provider";

const TOLERANCE_SECONDS = 300;

/**
 * Authenticates a delivery by what is configured: the Authorization header, the signature, or both. `isSigned` checks the
 * signature.
 * @throws AppError webhook_not_configured if neither is configured, webhook_unauthorized
 */
export function requireAuthentic(config: Config, delivery: Delivery, isSigned: (secret: string) => boolean): void {
  const { BILLING_WEBHOOK_AUTHORIZATION: allowed, BILLING_WEBHOOK_SIGNING_SECRET: secret } = config;
  if (allowed.length === 0 && secret === undefined) throw new AppError("webhook_not_configured");
  const authorized = allowed.length === 0 || matchesAny(allowed, delivery.headers.get("authorization") ?? "");
  const signed = secret === undefined || isSigned(secret);
  if (!authorized || !signed) throw new AppError("webhook_unauthorized");
}

/** Whether a timestamp in Unix seconds is within five minutes of now, which limits the replay of a recorded delivery. */
export function isRecent(seconds: string | undefined, now: Date): seconds is string {
  if (seconds === undefined || !/^\d{1,12}$/.test(seconds)) return false;
  return Math.abs(now.getTime() / 1000 - Number(seconds)) <= TOLERANCE_SECONDS;
}

/** Whether a value equals one of the candidates. Takes the same time whatever their lengths and contents. */
export function matchesAny(candidates: string[], value: string): boolean {
  const wanted = sha256(value);
  return candidates.map((candidate) => timingSafeEqual(sha256(candidate), wanted)).includes(true);
}

const sha256 = (text: string) => createHash("sha256").update(text).digest();
