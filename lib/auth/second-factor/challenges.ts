import { createHash, randomBytes } from "node:crypto";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { type CookieConfig, cookieName, parseCookies, setCookie, setShortCookie } from "../../platform/http/cookies";
import type { ReadableHeaders } from "../../platform/http-message";
import type { Caller } from "../../principal";
import { lockAccount } from "../account-checks";
import type { Amr, Authentication } from "../sessions/authentication";
import type { AuthenticatedAccount } from "../sessions/issue-session";
import type { SessionOptions } from "../sessions/sessions";
import { type FactorKind, listSecondFactors } from "./factors";

/** How long somebody has to fetch a phone or a list of codes. */
const CHALLENGE_TTL_SECONDS = 10 * 60;

/** A sign-in whose second factor is missing. `challenge` is a secret that completes it, once, with one of `factors`. */
export type SecondFactorChallenge = { challenge: string; expiresAt: Date; factors: FactorKind[] };

type Owner = { id: string; sessionEpoch: number };

/**
 * Stores the first half of a sign-in, and which session it asks for. null if the account has no second factor.
 * @throws AppError those of the precondition
 */
export async function createChallenge(
  { db, now }: Pick<Context, "db" | "now">,
  { id: accountId, sessionEpoch, precondition }: Owner & Pick<AuthenticatedAccount, "precondition">,
  { amr }: Authentication,
  { transport, deviceName }: SessionOptions,
): Promise<SecondFactorChallenge | null> {
  const factors = await listSecondFactors(db, accountId);
  if (factors.length === 0) return null;
  const challenge = randomBytes(32).toString("base64url");
  const createdAt = now();
  const expiresAt = new Date(createdAt.getTime() + CHALLENGE_TTL_SECONDS * 1000);
  const started = { amr: [...amr], transport, deviceName, createdAt, expiresAt };
  await db.$transaction(async (tx) => {
    await lockAccount(tx, accountId);
    await precondition?.(tx);
    await tx.signInChallenge.create({ data: { tokenHash: hashOf(challenge), accountId, sessionEpoch, ...started } });
  });
  return { challenge, expiresAt, factors };
}

export type PendingChallenge = Owner & SessionOptions & { tokenHash: string; amr: Amr[] };

/**
 * The pending challenge of a token. A password reset, which increments the account's epoch, ends it.
 * @throws AppError invalid_challenge for an unknown, used or expired one; rate_limited after many of those
 */
export async function findChallenge(
  { db, limits, now }: Pick<Context, "db" | "limits" | "now">,
  challenge: string | undefined,
  caller: Pick<Caller, "ip">,
): Promise<PendingChallenge> {
  const tokenHash = hashOf(challenge ?? "");
  const row = await db.signInChallenge.findUnique({
    where: { tokenHash, expiresAt: { gt: now() } },
    include: { account: { select: { id: true, sessionEpoch: true } } },
  });
  if (!row || row.account.sessionEpoch !== row.sessionEpoch) {
    await limits.consume("challengeByIp", caller.ip);
    throw new AppError("invalid_challenge");
  }
  const { transport, deviceName, account, amr } = row;
  return { ...account, tokenHash, transport, deviceName, amr: amr as Amr[] };
}

/** The ways to complete the sign-in of a challenge, for a page; empty if it is not pending. */
export async function listChallengeFactors(
  { db, now }: Pick<Context, "db" | "now">,
  challenge: string,
): Promise<FactorKind[]> {
  const where = { tokenHash: hashOf(challenge), expiresAt: { gt: now() } };
  const row = await db.signInChallenge.findUnique({ where, select: { accountId: true } });
  return row ? listSecondFactors(db, row.accountId) : [];
}

/** Uses up a challenge. @throws AppError invalid_challenge if a concurrent call has used it, or it was revoked, since */
export async function consumeChallenge({ db }: { db: Tx }, { tokenHash }: PendingChallenge): Promise<void> {
  const { count } = await db.signInChallenge.deleteMany({ where: { tokenHash } });
  if (count === 0) throw new AppError("invalid_challenge");
}

function hashOf(challenge: string): string {
  return createHash("sha256").update(challenge).digest("base64url");
}

/** The path of the page that asks a browser for the second factor, and continues to `callbackUrl`. */
export function secondFactorPage(parameters: { callbackUrl?: string; error?: string }): string {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return given.length > 0 ? `/sign-in/factor?${new URLSearchParams(given)}` : "/sign-in/factor";
}

/** The Set-Cookie header that carries a sign-in's challenge to that page. */
export function setChallengeCookie(config: CookieConfig, { challenge }: Pick<SecondFactorChallenge, "challenge">) {
  return setShortCookie(config, cookieName(config, "challenge"), challenge, CHALLENGE_TTL_SECONDS);
}

/** The Set-Cookie header that removes it. */
export function clearChallengeCookie(config: CookieConfig): string {
  return setCookie(config, cookieName(config, "challenge"), null, new Date(0));
}

/** The challenge of a browser's sign-in; undefined if there is none. */
export function readChallengeCookie(config: CookieConfig, headers: ReadableHeaders): string | undefined {
  return parseCookies(headers.get("cookie"))[cookieName(config, "challenge")] || undefined;
}
