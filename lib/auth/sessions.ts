import type { Context, Tx } from "../context";
import { removeDevices } from "../push/devices";
import { type Claims, decodeToken, encodeToken } from "./tokens";

export type Transport = "cookie" | "token";

const DAY_MS = 24 * 60 * 60 * 1000;
/** How long a session lives unused, and at most. */
const LIFETIMES = {
  cookie: { idleMs: 7 * DAY_MS, absoluteMs: 30 * DAY_MS },
  token: { idleMs: 30 * DAY_MS, absoluteMs: 90 * DAY_MS },
} as const;
/** The longest that any session lives; the row, not the token, ends it. */
const SESSION_MAX_SECONDS = LIFETIMES.token.absoluteMs / 1000;
const MOST_SESSIONS = 20;
const LAST_SEEN_MS = 60 * 1000;

type Opened = { transport: Transport; client: string | null; deviceName: string | null };

/** Opens a session. Of more than 20 of an account the oldest go. Returns its row and the claims of its token. */
export async function openSession(tx: Tx, now: Date, account: { id: string; sessionEpoch: number }, how: Opened) {
  const { idleMs, absoluteMs } = LIFETIMES[how.transport];
  const session = await tx.session.create({
    data: {
      accountId: account.id,
      transport: how.transport,
      client: how.client,
      deviceName: how.deviceName,
      createdAt: now,
      authenticatedAt: now,
      lastSeenAt: now,
      idleExpiresAt: new Date(now.getTime() + idleMs),
      expiresAt: new Date(now.getTime() + absoluteMs),
    },
  });
  const surplus = await tx.session.findMany({
    where: { accountId: account.id, revokedAt: null },
    orderBy: { createdAt: "desc" },
    skip: MOST_SESSIONS,
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
 * One query; null for everything else.
 */
export async function findSession({ config, db, now }: Pick<Context, "config" | "db" | "now">, token: string) {
  const claims = await decodeToken(token, config.secret);
  if (!claims) return null;
  const at = now();
  const session = await db.session.findFirst({
    where: {
      id: claims.sid,
      revokedAt: null,
      expiresAt: { gt: at },
      idleExpiresAt: { gt: at },
      account: { id: claims.sub, sessionEpoch: claims.epoch },
    },
    include: { account: true },
    relationLoadStrategy: "join",
  });
  if (!session) return null;
  if (at.getTime() - session.lastSeenAt.getTime() > LAST_SEEN_MS) {
    const idleExpiresAt = new Date(at.getTime() + LIFETIMES[session.transport].idleMs);
    await db.session.updateMany({ where: { id: session.id }, data: { lastSeenAt: at, idleExpiresAt } });
  }
  const { account, ...row } = session;
  return { session: row, account, claims };
}

/** Ends a session: its row, and the devices that it registered. Ending one that has ended does nothing. */
export async function revokeSession({ db, now }: Pick<Context, "db" | "now">, sessionId: string): Promise<void> {
  await db.$transaction(async (tx) => {
    await tx.session.updateMany({ where: { id: sessionId, revokedAt: null }, data: { revokedAt: now() } });
    await removeDevices(tx, { sessionIds: [sessionId] });
  });
}
