import { removeAccount } from "../accounts/delete-account";
import { COMMAND_LINE } from "../audit/operator-events";
import { type Actor, type EventExtra, recordSecurityEvent } from "../audit/security-events";
import { listSecurityEvents } from "../audit/trail";
import { readFactors, removeFactors } from "../auth/second-factor/factors";
import { revokeAllSessions } from "../auth/sessions/sessions";
import { lockAccountForSignOut } from "../auth/sessions/sign-out";
import type { Context, Tx } from "../context";
import type { AccountRole } from "../db/generated/client";
import { isUuid } from "../db/ids";

type Deps = Pick<Context, "config" | "db" | "now" | "removeDevices"> & {
  /** Who runs the command. */
  operator?: Actor;
};

const MAX_EVENTS = 50;

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
    select: { id: true, email: true, emailVerifiedAt: true, role: true, disabledAt: true, createdAt: true },
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
export async function describeAccount({ config, db, now }: Pick<Deps, "config" | "db" | "now">, id: string) {
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
  const securityEvents = await listAccountEvents({ config, db }, id);
  const factors = await readFactors({ db }, id);
  return { ...account, hasPassword: passwordHash !== null, factors, securityEvents };
}

/** An account's newest security events, also after the account was deleted. */
export function listAccountEvents(deps: Pick<Deps, "config" | "db">, accountId: string) {
  return listSecurityEvents(deps, accountId, MAX_EVENTS);
}

/** Deletes an account and sends an email to its owner. Returns whether the account existed. */
export function deleteAccount(
  deps: Parameters<typeof removeAccount>[0] & Pick<Deps, "operator">,
  id: string,
): Promise<boolean> {
  return removeAccount(deps, id, { caller: COMMAND_LINE, shouldEmail: true, extra: byOperator(deps) });
}

/**
 * Gives an account a role, which its live sessions have at once. Returns the role that it had before.
 * @throws if the account does not exist
 */
export function setRole(deps: Deps, id: string, role: AccountRole): Promise<AccountRole> {
  return deps.db.$transaction(async (tx) => {
    const [before] = await tx.$queryRaw<{ role: AccountRole }[]>`
      SELECT "role"::text FROM "Account" WHERE "id" = ${id}::uuid FOR NO KEY UPDATE`;
    if (!before) throw new Error(`There is no account ${id}.`);
    if (before.role === role) return role;
    await tx.account.update({ where: { id }, data: { role } });
    const details = { from: before.role, to: role };
    await recordSecurityEvent(tx, deps.now(), id, "role_changed", COMMAND_LINE, { ...byOperator(deps), details });
    return before.role;
  });
}

/**
 * Disables an account: ends its sessions, and lets nobody sign in to it. Keeps its data, and its subscription goes on.
 * Returns how many sessions this call ended; null if the account was disabled already.
 */
export function disableAccount(deps: Deps, id: string): Promise<number | null> {
  return deps.db.$transaction(async (tx) => {
    const data = { disabledAt: deps.now() };
    const { count } = await tx.account.updateMany({ where: { id, disabledAt: null }, data });
    if (count === 0) return null;
    await recordSecurityEvent(tx, deps.now(), id, "account_disabled", COMMAND_LINE, byOperator(deps));
    return revokeSessionsInTx(deps, tx, id);
  });
}

/** Enables an account, whose owner can then sign in again. Returns whether it was disabled. */
export function enableAccount(deps: Deps, id: string): Promise<boolean> {
  return deps.db.$transaction(async (tx) => {
    const where = { id, disabledAt: { not: null } };
    const { count } = await tx.account.updateMany({ where, data: { disabledAt: null } });
    if (count > 0) await recordSecurityEvent(tx, deps.now(), id, "account_enabled", COMMAND_LINE, byOperator(deps));
    return count > 0;
  });
}

/** Revokes every session of an account, and removes their devices. Returns how many sessions this call revoked. */
export function revokeSessions(deps: Deps, id: string): Promise<number> {
  return deps.db.$transaction((tx) => revokeSessionsInTx(deps, tx, id));
}

/**
 * Unlinks a provider from an account, and revokes its sessions, which the provider may have created. Changes nothing if
 * the provider is not linked. Returns how many identities were removed.
 */
export function unlinkIdentities(
  deps: Deps & { emails: Pick<Context["emails"], "enqueue"> },
  id: string,
  provider: string,
): Promise<number> {
  return deps.db.$transaction(async (tx) => {
    await lockAccountForSignOut(tx, id);
    const { count } = await tx.identity.deleteMany({ where: { accountId: id, provider } });
    const account = await tx.account.findUnique({ where: { id }, select: { email: true } });
    if (count === 0 || !account) return 0;
    const extra = { ...byOperator(deps), details: { provider } };
    await recordSecurityEvent(tx, deps.now(), id, "identity_unlinked", COMMAND_LINE, extra);
    await revokeSessionsInTx(deps, tx, id);
    await deps.emails.enqueue(tx, "identity_unlinked", account.email, { provider });
    return count;
  });
}

/**
 * Removes every second factor of an account, and its passkeys, which are on the devices that the owner has lost. Revokes
 * its sessions, and sends an email to its owner. Changes nothing if the account has neither. Returns whether it had any.
 */
export function resetFactors(
  deps: Deps & { emails: Pick<Context["emails"], "enqueue"> },
  { id, email }: { id: string; email: string },
): Promise<boolean> {
  return deps.db.$transaction(async (tx) => {
    await lockAccountForSignOut(tx, id);
    const hadTotp = await removeFactors(tx, id);
    const { count: passkeys } = await tx.passkey.deleteMany({ where: { accountId: id } });
    if (!hadTotp && passkeys === 0) return false;
    await recordSecurityEvent(tx, deps.now(), id, "factors_reset", COMMAND_LINE, {
      ...byOperator(deps),
      details: { hadTotp, passkeys },
    });
    await deps.emails.enqueue(tx, "factor_removed", email, { factor: hadTotp ? "totp" : "passkey" });
    await revokeSessionsInTx(deps, tx, id);
    return true;
  });
}

async function revokeSessionsInTx(
  deps: Pick<Deps, "now" | "operator" | "removeDevices">,
  tx: Tx,
  id: string,
): Promise<number> {
  const now = deps.now();
  const revoked = await revokeAllSessions(deps, tx, now, id);
  if (revoked > 0) await recordSecurityEvent(tx, now, id, "signed_out", COMMAND_LINE, byOperator(deps));
  return revoked;
}

function byOperator({ operator = "operator" }: Pick<Deps, "operator">): EventExtra {
  return { actor: operator };
}
