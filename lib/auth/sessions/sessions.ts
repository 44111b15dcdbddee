import type { Context, Tx } from "../../context";
import { batchLoad } from "../../platform/db/batch-load";
import type { Account, Session } from "../../platform/db/generated/client";
import { LIFETIMES } from "./lifetimes";
import { type Claims, decodeToken, encodeToken } from "./token";

type RemoveDevices = Pick<Context, "removeDevices">;

export type Transport = "cookie" | "token";

/** What a sign-in chooses for its session: how its token is carried, and the name of its device, if it has one. */
export type SessionOptions = { transport: Transport; deviceName: string | null };

/** A token never expires before its session: the session's row decides. */
const TOKEN_TTL_SECONDS = LIFETIMES.token.absoluteMs / 1000;
const LAST_SEEN_INTERVAL_MS = 60 * 1000;

/** The token of a session. */
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
  const { id, transport, authenticatedAt, aal, amr, expiresAt, account } = row;
  if (at.getTime() - row.lastSeenAt.getTime() > LAST_SEEN_INTERVAL_MS) updateLastSeen(db, at, id, transport);
  return { session: { id, transport, authenticatedAt, aal, amr, expiresAt }, account, claims };
}

type SessionRow = Omit<
  Session,
  "accountId" | "userAgent" | "deviceName" | "createdAt" | "reconciledAt" | "operatorRights"
>;
type AccountRow = Pick<Account, "email" | "name" | "image" | "role" | "locale" | "disabledAt" | "sessionEpoch">;

/** Plain SQL: a session is read for every request, and takes half as long as through the client's models. */
const readSession = batchLoad(async (db, ids) => {
  const rows = await db.$queryRaw<(SessionRow & AccountRow & { accountId: string })[]>`
    SELECT session."id"::text, session."transport"::text, session."authenticatedAt", session."aal", session."amr",
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

/**
 * At most once a minute, in the background: a database that refuses writes, or makes them wait, still serves reads. The next
 * request tries again.
 */
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
  { removeDevices }: RemoveDevices,
  tx: Tx,
  now: Date,
  sessionId: string,
): Promise<boolean> {
  const { count } = await tx.session.updateMany({
    where: { id: sessionId, revokedAt: null },
    data: { revokedAt: now },
  });
  await removeDevices(tx, { sessionIds: [sessionId] });
  return count > 0;
}

/**
 * Revokes every session of an account, removes their devices, and forgets the clients that the account recognizes. The
 * raised epoch invalidates every token. Returns how many sessions this call revoked.
 */
export async function revokeAllSessions(
  { removeDevices }: RemoveDevices,
  tx: Tx,
  now: Date,
  accountId: string,
): Promise<number> {
  await tx.account.updateMany({ where: { id: accountId }, data: { sessionEpoch: { increment: 1 } } });
  const { count } = await tx.session.updateMany({ where: { accountId, revokedAt: null }, data: { revokedAt: now } });
  await removeDevices(tx, { accountId });
  await tx.recognizedClient.deleteMany({ where: { accountId } });
  return count;
}
