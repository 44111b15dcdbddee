import type { Tx } from "../../context";
import { listPasskeys } from "../passkeys/stored-passkeys";

/** A way to complete a sign-in after the first factor. */
export type FactorKind = "totp" | "recovery_code" | "passkey";

const isConfirmed = { confirmedAt: { not: null } };

/** Whether sign-ins of an account need a second factor: it has an authenticator app. */
export async function hasSecondFactor(db: Tx, accountId: string): Promise<boolean> {
  return (await db.totpFactor.findFirst({ where: { accountId, ...isConfirmed }, select: { id: true } })) !== null;
}

/** The ways in which an account can give its second factor, the usual one first; empty if it has none. */
export async function listSecondFactors(db: Tx, accountId: string): Promise<FactorKind[]> {
  if (!(await hasSecondFactor(db, accountId))) return [];
  const passkey = await db.passkey.findFirst({ where: { accountId }, select: { id: true } });
  const code = await db.recoveryCode.findFirst({ where: { accountId, usedAt: null }, select: { accountId: true } });
  return ["totp", ...(passkey ? ["passkey" as const] : []), ...(code ? ["recovery_code" as const] : [])];
}

/** The authenticator app, the recovery codes and the passkeys of an account. null: it does not have that factor. */
export async function readFactors({ db }: { db: Tx }, accountId: string) {
  const totp = await db.totpFactor.findFirst({
    where: { accountId, ...isConfirmed },
    select: { id: true, confirmedAt: true, lastUsedAt: true },
  });
  const codes = await db.recoveryCode.findMany({ where: { accountId }, select: { createdAt: true, usedAt: true } });
  const [first] = codes;
  const remaining = codes.filter(({ usedAt }) => usedAt === null).length;
  return {
    totp: totp && { id: totp.id, createdAt: totp.confirmedAt as Date, lastUsedAt: totp.lastUsedAt },
    recoveryCodes: first ? { remaining, createdAt: first.createdAt } : null,
    passkeys: await listPasskeys(db, accountId),
  };
}

/** Removes the authenticator apps and the recovery codes of an account, but no passkey. Returns whether an app was confirmed. */
export async function removeTotpAndRecoveryCodes(tx: Tx, accountId: string): Promise<boolean> {
  const { count } = await tx.totpFactor.deleteMany({ where: { accountId, ...isConfirmed } });
  await tx.totpFactor.deleteMany({ where: { accountId } });
  await tx.recoveryCode.deleteMany({ where: { accountId } });
  return count > 0;
}

/** How long a code works that an operator handed over: a week. */
export const HANDED_CODE_TTL_MS = 7 * 24 * 60 * 60 * 1000;

/** Removes the codes of an account without an app, which an operator handed over more than a week ago. */
export async function removeOldHandedCodes(tx: Tx, now: Date, accountId: string): Promise<void> {
  if (await hasSecondFactor(tx, accountId)) return;
  const since = new Date(now.getTime() - HANDED_CODE_TTL_MS);
  await tx.recoveryCode.deleteMany({ where: { accountId, createdAt: { lt: since } } });
}

/** Removes the apps that were confirmed since a time or not at all, and the codes made since; without an app, all. */
export async function removeTotpAndRecoveryCodesSince(tx: Tx, accountId: string, since: Date): Promise<void> {
  await tx.totpFactor.deleteMany({
    where: { accountId, OR: [{ confirmedAt: null }, { confirmedAt: { gte: since } }] },
  });
  const isNew = (await hasSecondFactor(tx, accountId)) ? { createdAt: { gte: since } } : {};
  await tx.recoveryCode.deleteMany({ where: { accountId, ...isNew } });
}
