import type { Context, Tx } from "../../context";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import { batchLoad } from "../../platform/db/batch-load";
import type { Account, Session } from "../../platform/db/generated/client";
import { isUuid } from "../../platform/db/ids";
import { decryptToken, encryptToken } from "../../platform/keys/encrypted-token";
import type { Secrets } from "../../platform/keys/key-ring";
import { perObject } from "../../platform/per-object";
import type { Caller } from "../../principal";

type Deps = Pick<Context, "db" | "now" | "removeDevices">;

/** The claims of a session token: account id, session id, and the account's epoch when the token was issued. */
export type Claims = { sub: string; sid: string; epoch: number };

const PURPOSE = "";

type Decoded = { claims: Claims; expiresAtMs: number };

/** How many tokens stay decoded: a few MB. */
const MAX_DECODED = 5_000;
/**
 * Tokens that were decrypted, by the secrets, oldest first. A client sends its token with every request, and decryption
 * takes longer than most other steps of a request. Whether the session is live is in its row, which is read each time.
 */
const decodedTokensOf = perObject((_secrets: Secrets) => new Map<string, Decoded>());

/** Encodes a session token. next-auth's own function derives the key for each call, which takes four times as long. */
export function encodeToken(claims: Claims, secrets: Secrets, ttlSeconds: number): Promise<string> {
  return encryptToken(secrets, claims, { purpose: PURPOSE, ttlSeconds });
}

/** Decodes a session token; null if it is invalid or expired. */
export async function decodeToken(token: string, secrets: Secrets): Promise<Claims | null> {
  const decoded = decodedTokensOf(secrets);
  const known = decoded.get(token);
  if (known && known.expiresAtMs > Date.now()) return known.claims;
  const payload = ((await decryptToken(secrets, token, PURPOSE)) ?? {}) as Partial<Claims & { exp: number }>;
  const { sub, sid, epoch, exp = 0 } = payload;
  if (typeof sub !== "string" || typeof sid !== "string" || typeof epoch !== "number") return null;
  if (!isUuid(sub) || !isUuid(sid)) return null;
  const claims = { sub, sid, epoch };
  decoded.set(token, { claims, expiresAtMs: exp * 1000 });
  const [oldest] = decoded.keys();
  if (decoded.size > MAX_DECODED && oldest !== undefined) decoded.delete(oldest);
  return claims;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** How long a session lasts without use, and in total. */
export const LIFETIMES = {
  cookie: { idleMs: 7 * DAY_MS, absoluteMs: 30 * DAY_MS },
  token: { idleMs: 30 * DAY_MS, absoluteMs: 90 * DAY_MS },
} as const;

export type Transport = "cookie" | "token";

/** What a sign-in chooses for its session: how its token is carried, and the name of its device, if it has one. */
export type SessionOptions = { transport: Transport; deviceName: string | null };

/** A token never expires before its session: the session's row decides. */
const TOKEN_TTL_SECONDS = LIFETIMES.token.absoluteMs / 1000;
const LAST_SEEN_INTERVAL_MS = 60 * 1000;

export function sessionToken({ config }: Pick<Context, "config">, claims: Claims): Promise<string> {
  return encodeToken(claims, config.secrets, TOKEN_TTL_SECONDS);
}

/**
 * The live session of a token, with its account; null if it was revoked, has expired or has an old epoch, or if the account
 * is disabled. Concurrent calls share one query. The role is that of the session: `user` if it has no rights of an operator.
 */
export async function findSession({ config, db, now }: Pick<Context, "config" | "db" | "now">, token: string) {
  const at = now();
  const claims = await decodeToken(token, config.secrets);
  if (!claims) return null;
  const row = await readSession(db, claims.sid);
  const isLive =
    row?.revokedAt === null &&
    row.account.disabledAt === null &&
    row.expiresAt > at &&
    row.idleExpiresAt > at &&
    row.account.id === claims.sub &&
    row.account.sessionEpoch === claims.epoch;
  if (!isLive) return null;
  const { id, transport, authenticatedAt, authenticatedFrom, aal, amr, expiresAt, account } = row;
  if (at.getTime() - row.lastSeenAt.getTime() > LAST_SEEN_INTERVAL_MS) updateLastSeen(db, at, id, transport);
  return { session: { id, transport, authenticatedAt, authenticatedFrom, aal, amr, expiresAt }, account, claims };
}

type SessionRow = Omit<
  Session,
  "accountId" | "userAgent" | "deviceName" | "createdAt" | "reconciledAt" | "operatorRights"
>;
type AccountRow = Pick<Account, "email" | "name" | "image" | "role" | "locale" | "disabledAt" | "sessionEpoch">;

/** Plain SQL: a session is read for every request, and takes half as long as through the client's models. */
const readSession = batchLoad(async (db, ids) => {
  const rows = await db.$queryRaw<(SessionRow & AccountRow & { accountId: string })[]>`
    SELECT session."id"::text, session."transport"::text, session."authenticatedAt", session."authenticatedFrom", session."aal", session."amr",
      session."lastSeenAt", session."expiresAt", session."idleExpiresAt", session."revokedAt", session."accountId"::text,
      account."email", account."name", account."image", CASE WHEN session."operatorRights" THEN account."role" ELSE 'user' END::text AS "role", account."locale", account."disabledAt",
      account."sessionEpoch"
    FROM "Session" AS session JOIN "Account" AS account ON account."id" = session."accountId"
    WHERE session."id" = ANY(${ids}::uuid[])`;
  return new Map(
    rows.map(({ accountId, email, name, image, role, locale, disabledAt, sessionEpoch, ...session }) => [
      session.id,
      { ...session, account: { id: accountId, email, name, image, role, locale, disabledAt, sessionEpoch } },
    ]),
  );
});

/** At most once a minute, in the background: a database that refuses writes still serves reads. */
function updateLastSeen(db: Tx, at: Date, id: string, transport: Transport): void {
  db.session
    .updateMany({
      where: { id, lastSeenAt: { lt: new Date(at.getTime() - LAST_SEEN_INTERVAL_MS) } },
      data: { lastSeenAt: at, idleExpiresAt: new Date(at.getTime() + LIFETIMES[transport].idleMs) },
    })
    .catch(() => {});
}

/** Revokes a session and removes the devices that it registered. Does nothing to a revoked session. */
export async function revokeSession(
  deps: Pick<Context, "db" | "now" | "removeDevices">,
  sessionId: string,
): Promise<void> {
  await deps.db.$transaction((tx) => revokeSessionInTx(deps, tx, deps.now(), sessionId));
}

/** The same inside a transaction. Returns whether this call revoked it: of concurrent calls one does. */
export async function revokeSessionInTx(
  { removeDevices }: Pick<Context, "removeDevices">,
  tx: Tx,
  now: Date,
  sessionId: string,
) {
  const { count } = await tx.session.updateMany({
    where: { id: sessionId, revokedAt: null },
    data: { revokedAt: now },
  });
  await removeDevices(tx, { sessionIds: [sessionId] });
  return count > 0;
}

/** Revokes every session of an account, their tokens and devices, and forgets its clients. Returns how many. */
export async function revokeAllSessions(
  { removeDevices }: Pick<Context, "removeDevices">,
  tx: Tx,
  now: Date,
  accountId: string,
) {
  await tx.account.updateMany({ where: { id: accountId }, data: { sessionEpoch: { increment: 1 } } });
  const { count } = await tx.session.updateMany({ where: { accountId, revokedAt: null }, data: { revokedAt: now } });
  await removeDevices(tx, { accountId });
  await tx.recognizedClient.deleteMany({ where: { accountId } });
  return count;
}

/** Revokes a session and records it as a security event. Does nothing to a revoked session. */
export async function signOut(deps: Deps, { sub, sid }: Pick<Claims, "sub" | "sid">, caller: Caller): Promise<void> {
  await deps.db.$transaction(async (tx) => {
    await lockAccountForSignOut(tx, sub);
    const at = deps.now();
    if (await revokeSessionInTx(deps, tx, at, sid)) await recordSecurityEvent(tx, at, sub, "signed_out", caller);
  });
}

/** Locks the account before its sessions, in the order of account deletion and `revokeAllSessions`: no deadlock. */
export async function lockAccountForSignOut(tx: Tx, accountId: string): Promise<void> {
  await tx.$queryRaw`SELECT 1 FROM "Account" WHERE "id" = ${accountId}::uuid FOR KEY SHARE`;
}
