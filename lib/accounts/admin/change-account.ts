import { lockAccount, requireAnotherAdmin } from "../../auth/account-checks";
import { HANDED_CODE_TTL_MS, hasSecondFactor, removeTotpAndRecoveryCodes } from "../../auth/second-factor/factors";
import { replaceRecoveryCodes } from "../../auth/second-factor/recovery-codes";
import { revokeAllSessions, revokeSessionInTx } from "../../auth/sessions/sessions";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordAccountChange } from "../../platform/audit/operator-events";
import type { Operator } from "../../principal";
import { liveSessions } from "../sessions";
import type { AccountChange, AccountSummary, NewRole, ProviderChange, UnlinkedProvider, WithReason } from "./schema";

type Deps = Pick<Context, "db" | "now" | "removeDevices">;

/** The columns of `AccountSummary`. */
export const SUMMARY = {
  id: true,
  email: true,
  emailVerifiedAt: true,
  name: true,
  role: true,
  disabledAt: true,
  consentWithdrawnAt: true,
  emailProblem: true,
  createdAt: true,
} as const;

type Ended = Pick<AccountChange, "sessionsEnded" | "devicesRemoved">;
const NOTHING_ENDED: Ended = { sessionsEnded: 0, devicesRemoved: 0 };

/** Locks an account that an operator changes, so that changes take turns. @throws AppError not_found */
export async function lockAndReadAccount(tx: Tx, id: string): Promise<AccountSummary> {
  await lockAccount(tx, id);
  const account = await tx.account.findUnique({ where: { id }, select: SUMMARY });
  if (account === null) throw new AppError("not_found");
  return account;
}

/** Revokes every session of a locked account, and removes its devices. Records an event if there were any. */
async function revokeAccountSessionsInTx(
  deps: Pick<Deps, "now" | "removeDevices">,
  tx: Tx,
  operator: Operator,
  id: string,
  reason?: string,
) {
  const at = deps.now();
  const sessionsEnded = await tx.session.count({ where: liveSessions(id, at) });
  const devicesRemoved = await tx.pushDevice.count({ where: { accountId: id } });
  await revokeAllSessions(deps, tx, at, id);
  const details = { sessionsEnded, devicesRemoved };
  if (sessionsEnded + devicesRemoved > 0) {
    await recordAccountChange(tx, at, operator, id, { type: "signed_out", details, reason });
  }
  return details;
}

/**
 * Disables an account: revokes its sessions, and refuses sign-ins. Its data and its subscription stay.
 * @throws AppError not_found, last_admin
 */
export function disableAccount(deps: Deps, operator: Operator, id: string, { reason }: WithReason = {}) {
  return deps.db.$transaction(async (tx) => {
    await requireAnotherAdmin(tx, id);
    const account = await lockAndReadAccount(tx, id);
    if (account.disabledAt !== null) return { account, isChanged: false, ...NOTHING_ENDED };
    const disabledAt = deps.now();
    await tx.account.update({ where: { id }, data: { disabledAt } });
    await recordAccountChange(tx, disabledAt, operator, id, { type: "account_disabled", reason });
    const ended = await revokeAccountSessionsInTx(deps, tx, operator, id, reason);
    return { account: { ...account, disabledAt }, isChanged: true, ...ended };
  });
}

/** Enables an account, whose owner can then sign in again. @throws AppError not_found */
export function enableAccount(deps: Pick<Deps, "db" | "now">, operator: Operator, id: string, given: WithReason = {}) {
  return clear(deps, operator, id, { ...given, field: "disabledAt", type: "account_enabled" });
}

/**
 * Records that a parent has given the consent again. A suspended account stays disabled. @throws AppError not_found
 */
export function restoreConsent(deps: Pick<Deps, "db" | "now">, operator: Operator, id: string, given: WithReason = {}) {
  return clear(deps, operator, id, { ...given, field: "consentWithdrawnAt", type: "consent_restored" });
}

type Cleared = WithReason &
  ({ field: "disabledAt"; type: "account_enabled" } | { field: "consentWithdrawnAt"; type: "consent_restored" });

/** Clears what an account is marked with. @throws AppError not_found */
function clear(
  { db, now }: Pick<Deps, "db" | "now">,
  operator: Operator,
  id: string,
  { field, type, reason }: Cleared,
) {
  return db.$transaction(async (tx) => {
    const account = await lockAndReadAccount(tx, id);
    if (account[field] === null) return { account, isChanged: false, ...NOTHING_ENDED };
    await tx.account.update({ where: { id }, data: { [field]: null } });
    await recordAccountChange(tx, now(), operator, id, { type, reason });
    return { account: { ...account, [field]: null }, isChanged: true, ...NOTHING_ENDED };
  });
}

/** Gives an account a role, which its live sessions have at once. @throws AppError not_found, last_admin */
export function setRole(
  { db, now }: Pick<Deps, "db" | "now">,
  operator: Operator,
  id: string,
  { role, reason }: NewRole,
) {
  return db.$transaction(async (tx) => {
    if (role !== "admin") await requireAnotherAdmin(tx, id);
    const account = await lockAndReadAccount(tx, id);
    const previousRole = account.role;
    if (previousRole === role) return { account, previousRole, isChanged: false, ...NOTHING_ENDED };
    await tx.account.update({ where: { id }, data: { role } });
    const details = { from: previousRole, to: role };
    await recordAccountChange(tx, now(), operator, id, { type: "role_changed", details, reason });
    return { account: { ...account, role }, previousRole, isChanged: true, ...NOTHING_ENDED };
  });
}

/** Revokes every session of an account, and removes its devices. @throws AppError not_found */
export function revokeAccountSessions(deps: Deps, operator: Operator, id: string, { reason }: WithReason = {}) {
  return deps.db.$transaction(async (tx) => {
    const account = await lockAndReadAccount(tx, id);
    const ended = await revokeAccountSessionsInTx(deps, tx, operator, id, reason);
    return { account, isChanged: ended.sessionsEnded + ended.devicesRemoved > 0, ...ended };
  });
}

/**
 * Revokes a session, and removes its devices, also an expired one: an instance whose clock is behind accepts it.
 * @throws AppError not_found, also for a session that was revoked
 */
export function revokeAccountSession(
  deps: Deps,
  operator: Operator,
  { accountId, sessionId }: { accountId: string; sessionId: string },
  { reason }: WithReason = {},
): Promise<AccountChange> {
  return deps.db.$transaction(async (tx) => {
    const account = await lockAndReadAccount(tx, accountId);
    const at = deps.now();
    const session = await tx.session.findUnique({ where: { id: sessionId, accountId, revokedAt: null } });
    if (session === null) throw new AppError("not_found");
    const devicesRemoved = await tx.pushDevice.count({ where: { sessionId } });
    await revokeSessionInTx(deps, tx, at, sessionId);
    const ended = { sessionsEnded: 1, devicesRemoved };
    await recordAccountChange(tx, at, operator, accountId, { type: "signed_out", details: ended, reason });
    return { account, isChanged: true, ...ended };
  });
}

/**
 * Removes every second factor of an account, and its passkeys, which are on the devices that the owner has lost. Ends
 * its sessions, and sends an email to its owner.
 * @throws AppError not_found; no_second_factor if the account has neither
 */
export async function resetFactors(
  deps: Deps & Pick<Context, "emails">,
  operator: Operator,
  id: string,
  { reason }: WithReason = {},
) {
  const change = await deps.db.$transaction(async (tx) => {
    const account = await lockAndReadAccount(tx, id);
    const hadTotp = await removeTotpAndRecoveryCodes(tx, id);
    const { count: passkeys } = await tx.passkey.deleteMany({ where: { accountId: id } });
    if (!hadTotp && passkeys === 0) {
      throw new AppError("no_second_factor", { detail: "The account has no second factor and no passkey." });
    }
    const details = { hadTotp, passkeys };
    await recordAccountChange(tx, deps.now(), operator, id, { type: "factors_reset", details, reason });
    await deps.emails.enqueue(tx, "factor_removed", account.email, { factor: hadTotp ? "totp" : "passkey" });
    const ended = await revokeAccountSessionsInTx(deps, tx, operator, id, reason);
    return { account, isChanged: true, ...ended };
  });
  deps.emails.wake();
  return change;
}

/**
 * Makes a code for the owner of an account without an authenticator app, which an emailed link needs with AUTH_LINKS_NEED_CODE.
 * It works once within a week, and replaces an earlier one.
 * @throws AppError not_found; factor_exists
 */
export async function createHandedCode(deps: Deps, operator: Operator, id: string, { reason }: WithReason = {}) {
  return deps.db.$transaction(async (tx) => {
    const account = await lockAndReadAccount(tx, id);
    if (await hasSecondFactor(tx, id)) throw new AppError("factor_exists");
    const at = deps.now();
    const [recoveryCode = ""] = await replaceRecoveryCodes(tx, at, id, 1);
    await recordAccountChange(tx, at, operator, id, { type: "recovery_code_created", reason });
    const expiresAt = new Date(at.getTime() + HANDED_CODE_TTL_MS);
    return { account, recoveryCode, expiresAt };
  });
}

/**
 * Unlinks a provider from an account, and ends its sessions, which the provider may have created. Sends an email to its
 * owner, who can sign in by a password reset.
 * @throws AppError not_found, also if the provider is not linked
 */
export async function unlinkProvider(
  deps: Deps & Pick<Context, "emails">,
  operator: Operator,
  id: string,
  { provider, reason }: UnlinkedProvider,
): Promise<ProviderChange> {
  const change = await deps.db.$transaction(async (tx) => {
    const account = await lockAndReadAccount(tx, id);
    const { count } = await tx.identity.deleteMany({ where: { accountId: id, provider } });
    if (count === 0) throw new AppError("not_found", { detail: `The account is not linked to ${provider}.` });
    const details = { provider };
    await recordAccountChange(tx, deps.now(), operator, id, { type: "identity_unlinked", details, reason });
    const ended = await revokeAccountSessionsInTx(deps, tx, operator, id, reason);
    await deps.emails.enqueue(tx, "identity_unlinked", account.email, details);
    return { account, isChanged: true, identitiesRemoved: count, ...ended };
  });
  deps.emails.wake();
  return change;
}
