import { removeAccount } from "../accounts/delete-account";
import { listSecurityEvents, recordSecurityEvent } from "../audit/security-events";
import { revokeAllSessions } from "../auth/sessions/sessions";
import type { Context, Tx } from "../context";
import { isUuid } from "../db/ids";

type Deps = Pick<Context, "db" | "now" | "removeDevices">;

const MAX_EVENTS = 50;
/** The caller of the security events that an operator causes. */
const OPERATOR = { ip: "unknown", userAgent: "operator" };

/** The newest accounts whose email contains a text. */
export function listAccounts({ db }: Pick<Deps, "db">, { search, limit }: { search: string; limit: number }) {
  // Prisma does not escape LIKE's wildcards, and emails may contain "_".
  const contains = search
    .trim()
    .toLowerCase()
    .replaceAll(/[\\%_]/g, "\\$&");
  return db.account.findMany({
    where: { email: { contains } },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
    take: limit,
    select: { id: true, email: true, emailVerifiedAt: true, createdAt: true },
  });
}

/** Whether a text is an account's id, rather than an email. */
export const isAccountId = (text: string): boolean => isUuid(text.trim());

/** Finds an account by its id or its email; null if there is none. */
export function findAccount({ db }: Pick<Deps, "db">, idOrEmail: string) {
  const key = idOrEmail.trim().toLowerCase();
  return db.account.findUnique({
    where: isAccountId(key) ? { id: key } : { email: key },
    select: { id: true, email: true },
  });
}

/** An account with what support needs, newest first, and without anything secret. */
export async function describeAccount({ db, now }: Pick<Deps, "db" | "now">, id: string) {
  const at = now();
  const { passwordHash, ...account } = await db.account.findUniqueOrThrow({
    where: { id },
    include: {
      identities: { select: { provider: true, createdAt: true } },
      sessions: {
        where: { revokedAt: null, expiresAt: { gt: at }, idleExpiresAt: { gt: at } },
        omit: { accountId: true },
        orderBy: { createdAt: "desc" },
      },
      devices: { select: { id: true, name: true, model: true, status: true, createdAt: true } },
      purchases: { select: { store: true, productId: true, currentPeriodEndsAt: true, endedAt: true } },
    },
  });
  const securityEvents = await listAccountEvents({ db }, id);
  return { ...account, hasPassword: passwordHash !== null, securityEvents };
}

/** An account's newest security events, also after the account was deleted. */
export function listAccountEvents({ db }: Pick<Deps, "db">, accountId: string) {
  return listSecurityEvents({ db }, accountId, MAX_EVENTS);
}

/** Deletes an account and sends an email to its owner. Returns whether the account existed. */
export function deleteAccount(deps: Parameters<typeof removeAccount>[0], id: string): Promise<boolean> {
  return removeAccount(deps, id, OPERATOR, true);
}

/** Revokes every session of an account, and removes their devices. Returns how many sessions this call revoked. */
export function revokeSessions(deps: Deps, id: string): Promise<number> {
  return deps.db.$transaction((tx) => revokeSessionsInTx(deps, tx, id));
}

/**
 * Unlinks a provider from an account, and revokes its sessions, which the provider may have created. Changes nothing if
 * the provider is not linked. Returns how many identities were removed.
 */
export function unlinkIdentities(deps: Deps, id: string, provider: string): Promise<number> {
  return deps.db.$transaction(async (tx) => {
    const { count } = await tx.identity.deleteMany({ where: { accountId: id, provider } });
    if (count === 0) return 0;
    await recordSecurityEvent(tx, deps.now(), id, "identity_unlinked", OPERATOR);
    await revokeSessionsInTx(deps, tx, id);
    return count;
  });
}

async function revokeSessionsInTx(deps: Pick<Deps, "now" | "removeDevices">, tx: Tx, id: string): Promise<number> {
  const now = deps.now();
  const revoked = await revokeAllSessions(deps, tx, now, id);
  if (revoked > 0) await recordSecurityEvent(tx, now, id, "signed_out", OPERATOR);
  return revoked;
}
