import type { Context } from "../context";
import { type AppError, ERRORS, type ErrorCode } from "../errors";
import { networkOf } from "./security-events";

/** The request that was refused, and who sent it. */
type RefusedRequest = { requestId?: string; method?: string; route?: string; accountId?: string; keyId?: string };

/** The statuses of requests that were refused for who sent them, from where, or how often. */
const REFUSED_STATUSES: ReadonlySet<number> = new Set([401, 403, 429]);
/** Refusals of a guessed code or token, for which OAuth and forms return other statuses. */
const GUESSED_CODES: ReadonlySet<ErrorCode> = new Set([
  "invalid_grant",
  "invalid_id_token",
  "invalid_or_expired_token",
  "invalid_user_code",
  "passkey_invalid",
]);
/**
 * Not logged as refusals: an ended session, and a sign-in that still needs its second factor. The request's own log
 * line has the status.
 */
const UNLOGGED_CODES: ReadonlySet<ErrorCode> = new Set(["unauthenticated", "second_factor_required"]);

/**
 * Logs a refusal that may be part of an attack: a wrong password, a foreign origin, a rate limit, a failed step-up. The
 * line has the client's network instead of its IP, as in security events, so that attempts on many accounts can be
 * traced.
 */
export function logRefusal(
  { log }: Pick<Context, "log">,
  error: AppError,
  ip: string,
  about: RefusedRequest = {},
): void {
  const { code, extras } = error;
  // No proof was given yet: the step-up has not been tried.
  if (extras.errors?.every((fault) => fault.code === "required")) return;
  const isRefusal = REFUSED_STATUSES.has(ERRORS[code][0]) || GUESSED_CODES.has(code);
  if (!isRefusal || UNLOGGED_CODES.has(code)) return;
  const limit = extras.headers?.["RateLimit-Policy"];
  log.warn({ ...about, code, limit, network: networkOf(ip) }, "refused");
}
