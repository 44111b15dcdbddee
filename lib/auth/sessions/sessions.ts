import type { Context, Tx } from "../../context";
import { batchLoad } from "../../db/batch-load";
import { removeDevices } from "../../push/devices";
import { type Claims, decodeToken, encodeToken } from "./token";

export type Transport = "cookie" | "token";

const DAY_MS = 24 * 60 * 60 * 1000;
/** How long a session lives unused, and at most. */
const LIFETIMES = {
  cookie: { idleMs: 7 * DAY_MS, absoluteMs: 30 * DAY_MS },
  token: { idleMs: 30 * DAY_MS, absoluteMs: 90 * DAY_MS },
} as const;
/** The longest that any session lives; the row, not the token, ends it. */
const SESSION_MAX_SECONDS = LIFETIMES.token.absoluteMs / 1000;
const MAX_SESSIONS = 20;
const LAST_SEEN_MS = 60 * 1000;

type SessionInput = { transport: Transport; client: string | null; deviceName: string | null };

/**
 * Opens a session. Of more than 20 live ones of an account the oldest go. The account is new, or locked by the
 * caller, so that two sign-ins at once see each other. Returns the row and the claims of its token.
 */
export async function createSession(
  tx: Tx,
  now: Date,
  account: { id: string; sessionEpoch: number },
  how: SessionInput,
) {
  const { idleMs, absoluteMs } = LIFETIMES[how.transport];
  const session = await tx.session.create({
    data: {
      accountId: account.id,
      transport: how.transport,
      userAgent: how.client,
      deviceName: how.deviceName,
      createdAt: now,
      authenticatedAt: now,
      lastSeenAt: now,
      idleExpiresAt: new Date(now.getTime() + idleMs),
      expiresAt: new Date(now.getTime() + absoluteMs),
    },
  });
  const surplus = await tx.session.findMany({
    where: { accountId: account.id, revokedAt: null, expiresAt: { gt: now }, idleExpiresAt: { gt: now } },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
    skip: MAX_SESSIONS,
    select: { id: true },
  });
  if (surplus.length > 0) {
    const ids = surplus.map(({ id }) => id);
    await tx.session.updateMany({ where: { id: { in: ids } }, data: { revokedAt: now } });
    await removeDevices(tx, { sessionIds: ids });
  }
  const claims: Claims = { sub: account.id, sid: session.id, epoch: account.sessionEpoch };
  return { session, claims };
}

/** The token of a session. */
export function sessionToken({ config }: Pick<Context, "config">, claims: Claims): Promise<string> {
  return encodeToken(claims, config.secret, SESSION_MAX_SECONDS);
}

/**
 * The session a token stands for, with its account: not revoked, not expired, of the account's current epoch.
 * null for everything else. One statement, which all checks of the same moment share; a second one notes, at most
 * once a minute, that the session was seen.
 */
export async function findSession({ config, db, now }: Pick<Context, "config" | "db" | "now">, token: string) {
  const at = now();
  const claims = await decodeToken(token, config.secret);
  if (!claims) return null;
  const row = await readSession(db, claims.sid);
  const isLive =
    row?.revokedAt === null &&
    row.expiresAt > at &&
    row.idleExpiresAt > at &&
    row.account.id === claims.sub &&
    row.account.sessionEpoch === claims.epoch;
  if (!isLive) return null;
  const { id, transport, authenticatedAt, expiresAt, account } = row;
  if (at.getTime() - row.lastSeenAt.getTime() > LAST_SEEN_MS) await updateLastSeen(db, at, id, transport);
  return { session: { id, transport, authenticatedAt, expiresAt }, account, claims };
}

const readSession = batchLoad(async (db, ids) => {
  const rows = await db.session.findMany({
    where: { id: { in: ids } },
    relationLoadStrategy: "join",
    select: {
      ...{ id: true, transport: true, authenticatedAt: true, lastSeenAt: true },
      ...{ expiresAt: true, idleExpiresAt: true, revokedAt: true },
      account: { select: { id: true, email: true, name: true, image: true, sessionEpoch: true } },
    },
  });
  return new Map(rows.map((row) => [row.id, row]));
});

async function updateLastSeen(db: Tx, at: Date, id: string, transport: Transport): Promise<void> {
  await db.session.updateMany({
    where: { id, lastSeenAt: { lt: new Date(at.getTime() - LAST_SEEN_MS) } },
    data: { lastSeenAt: at, idleExpiresAt: new Date(at.getTime() + LIFETIMES[transport].idleMs) },
  });
}

/** Ends a session: its row, and the devices that it registered. Ending one that has ended does nothing. */
export async function revokeSession({ db, now }: Pick<Context, "db" | "now">, sessionId: string): Promise<void> {
  await db.$transaction((tx) => revokeSessionInTx(tx, now(), sessionId));
}

/** The same within a transaction. Returns whether it was this that ended it: of several at once one is. */
export async function revokeSessionInTx(tx: Tx, now: Date, sessionId: string): Promise<boolean> {
  const { count } = await tx.session.updateMany({
    where: { id: sessionId, revokedAt: null },
    data: { revokedAt: now },
  });
  await removeDevices(tx, { sessionIds: [sessionId] });
  return count > 0;
}

/**
 * Ends every session of an account, the devices that they registered, and by the raised epoch every token there is
 * of it; no client is recognized any more. Returns how many sessions had not ended before.
 */
export async function revokeAllSessions(tx: Tx, now: Date, accountId: string): Promise<number> {
  await tx.account.updateMany({ where: { id: accountId }, data: { sessionEpoch: { increment: 1 } } });
  const { count } = await tx.session.updateMany({ where: { accountId, revokedAt: null }, data: { revokedAt: now } });
  await removeDevices(tx, { accountId });
  await tx.recognizedClient.deleteMany({ where: { accountId } });
  return count;
}
