import { networkOf } from "../../platform/audit/security-events";
import type { Config } from "../../platform/config";
import type { Caller } from "../../principal";
import { clientName } from "./client-name";

/**
 * How somebody was authenticated (RFC 8176, section 2, where it has the value): a password, a sign-in provider ("fed"), a
 * one-time code, a recovery code, a passkey in hardware or software, with user verification, or several factors.
 */
export type Amr = "pwd" | "fed" | "otp" | "recovery" | "hwk" | "swk" | "user" | "mfa";

/** Where a user authenticates: the network (/24 or /64) and the name of the client. */
export function placeOf({ ip, userAgent }: Pick<Caller, "ip" | "userAgent">): string {
  return `${networkOf(ip) ?? "unknown"}, ${clientName(null, userAgent)}`;
}

/**
 * A session as it counts for a caller: with AUTH_SESSION_CONTEXT, an authentication counts as old where it did not take place, so
 * that a stolen session has to prove who its user is before each sensitive action (OWASP ASVS 5.0, 8.2.4).
 */
export function seenFrom<Session extends { authenticatedAt: Date; authenticatedFrom: string | null }>(
  session: Session,
  caller: () => Pick<Caller, "ip" | "userAgent">,
  { AUTH_SESSION_CONTEXT }: Pick<Config, "AUTH_SESSION_CONTEXT">,
): Session {
  const isElsewhere = AUTH_SESSION_CONTEXT && session.authenticatedFrom !== placeOf(caller());
  return isElsewhere ? { ...session, authenticatedAt: new Date(0) } : session;
}

/** The authenticator assurance level (NIST SP 800-63B-4, section 2): 2 after two factors, or a passkey that is both. */
export type Aal = 1 | 2;

export type Authentication = {
  aal: Aal;
  amr: readonly Amr[];
  /** When, for a session that another one allowed. Default: now. */
  authenticatedAt?: Date | undefined;
  /** false: the session has no rights of an operator, whatever its account's role. Default: true. */
  operatorRights?: boolean | undefined;
};

export const BY_PASSWORD: Authentication = { aal: 1, amr: ["pwd"] };
export const BY_PROVIDER: Authentication = { aal: 1, amr: ["fed"] };

/** A session's authentication after a second factor, or after a passkey, which is two factors. */
export function withSecondFactor(session: { amr: readonly string[] }, amr: readonly Amr[], authenticatedAt: Date) {
  return { aal: 2, amr: [...new Set([...session.amr, ...amr, "mfa"])], authenticatedAt };
}

/** How recent an authentication must be for a sensitive action: a stolen session alone must not be enough. */
export const MAX_AUTHENTICATION_AGE_SECONDS = 10 * 60;

/** Whether a session was authenticated within `maxAgeSeconds`, at this level at least. */
export function isFresh(
  session: { authenticatedAt: Date; aal: number },
  { aal, maxAgeSeconds, now }: { aal: Aal; maxAgeSeconds: number; now: Date },
): boolean {
  return session.aal >= aal && now.getTime() - session.authenticatedAt.getTime() < maxAgeSeconds * 1000;
}
