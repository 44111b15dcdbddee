import type { Context } from "../../context";
import type { AppError, ErrorCode } from "../../errors";
import { networkOf } from "./security-events";

/** The request that was refused, and who sent it. */
type RefusedRequest = {
  requestId?: string;
  method?: string;
  route?: string;
  accountId?: string;
  keyId?: string;
  publisherId?: string;
};

/**
 * Refusals for who sent the request, from where, or how often, and of guessed codes and tokens. Without two: an ended
 * session, and a sign-in that still needs its second factor. The request's own log line has their status.
 */
const LOGGED_CODES: ReadonlySet<ErrorCode> = new Set([
  "account_disabled",
  "email_not_verified",
  "forbidden",
  "grant_too_long",
  "identity_unverified",
  "invalid_challenge",
  "invalid_code",
  "invalid_credentials",
  "invalid_grant",
  "invalid_id_token",
  "invalid_or_expired_token",
  "invalid_user_code",
  "origin_not_allowed",
  "passkey_invalid",
  "rate_limited",
  "reauthentication_required",
  "webhook_unauthorized",
]);

/**
 * Logs a refusal that may be part of an attack: a wrong password, a foreign origin, a rate limit, a failed step-up. The
 * line has the client's network instead of its IP, as in security events, so that attempts on many accounts can be
 * traced.
 */
export function logRefusal({ log }: Pick<Context, "log">, error: AppError, ip: string, about: RefusedRequest = {}) {
  const { code, extras } = error;
  // No proof was given yet: the step-up has not been tried.
  if (extras.errors?.every((fault) => fault.code === "required")) return;
  if (!LOGGED_CODES.has(code)) return;
  const limit = extras.headers?.["RateLimit-Policy"];
  log.warn({ ...about, code, limit, network: networkOf(ip) }, "refused");
}
