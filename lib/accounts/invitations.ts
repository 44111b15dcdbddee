import { emailedToken, findEmailedToken, hashEmailedToken } from "../auth/emailed-token";
import { createOptionsFor } from "../auth/passkeys/options";
import { addPasskey, verifyNewPasskey } from "../auth/passkeys/register-passkey";
import type { PasskeyCreationOptions } from "../auth/passkeys/schema";
import type { Tx } from "../context";
import { AppError } from "../errors";
import { recordAccountChange } from "../platform/audit/operator-events";
import { newId } from "../platform/db/ids";
import type { Caller, Operator } from "../principal";
import type { Invitation } from "./admin/schema";
import { consumeLink, type PasswordLink, requireLink, requireLinkCode, setPasswordByLink } from "./password-reset";
import type { AcceptInvitation } from "./schema";
import { type LinkedIdentity, listIdentities } from "./sign-in-methods/identities";

type Deps = Parameters<typeof setPasswordByLink>[0];

const TTL_DAYS = 7;
const TTL_MS = TTL_DAYS * 24 * 60 * 60 * 1000;
export const INVITATION_TTL_SECONDS = TTL_MS / 1000;

/** An account that an invitation can be for. */
const UNUSED = { passwordHash: null, passkeys: { none: {} } } as const;

const INVITATION: PasswordLink = {
  event: "invitation_accepted",
  find: async (db, tokenHash, at) => {
    const where = { tokenHash, expiresAt: { gt: at }, account: { ...UNUSED, disabledAt: null } };
    const select = { account: { select: { id: true, email: true } } };
    return (await db.invitation.findUnique({ where, select }))?.account ?? null;
  },
};

/**
 * Invites the owner of a locked account to choose a password or a passkey within 7 days. Replaces an earlier invitation.
 * @throws AppError sign_in_method_exists
 */
export async function inviteInTx(
  { config, emails, now }: Pick<Deps, "config" | "emails" | "now">,
  tx: Tx,
  operator: Operator,
  { id: accountId, email }: { id: string; email: string },
  reason?: string,
): Promise<Invitation> {
  if ((await tx.account.count({ where: { id: accountId, ...UNUSED } })) === 0)
    throw new AppError("sign_in_method_exists");
  const [id, createdAt] = [newId(), now()];
  const expiresAt = new Date(createdAt.getTime() + TTL_MS);
  const invitation = { id, tokenHash: hashEmailedToken(emailedToken(config, "invitation", id)), createdAt, expiresAt };
  await tx.invitation.upsert({ where: { accountId }, create: { accountId, ...invitation }, update: invitation });
  await recordAccountChange(tx, createdAt, operator, accountId, { type: "account_invited", reason });
  await emails.enqueue(tx, "invitation", email);
  return { createdAt, expiresAt };
}

/** The token of an email's invitation, for the email that carries it; null if there is none that works. */
export async function findInvitation({ config, db, now }: Pick<Deps, "config" | "db" | "now">, email: string) {
  const where = { expiresAt: { gt: now() }, account: { email, ...UNUSED, disabledAt: null } };
  const invitation = await db.invitation.findFirst({ where });
  if (!invitation) return null;
  const { id, tokenHash, expiresAt } = invitation;
  const found = findEmailedToken(config, "invitation", id, (token) => hashEmailedToken(token) === tokenHash);
  if (found) return { token: found, expiresAt };
  // Its secret is no longer in the ring: the email carries a token that works.
  const token = emailedToken(config, "invitation", id);
  await db.invitation.updateMany({ where: { id }, data: { tokenHash: hashEmailedToken(token) } });
  return { token, expiresAt };
}

/** The options of the passkey that accepts an invitation. @throws AppError invalid_or_expired_token, rate_limited */
export async function createInvitationOptions(
  ctx: Pick<Deps, "config" | "db" | "limits" | "now">,
  token: string,
  caller: Caller,
): Promise<PasskeyCreationOptions> {
  const { id } = await requireLink(ctx, INVITATION, token, caller);
  const account = await ctx.db.account.findUnique({ where: { id }, select: { id: true, email: true, name: true } });
  if (!account) throw new AppError("invalid_or_expired_token");
  return createOptionsFor(ctx, "invitation", account);
}

/**
 * Accepts an invitation, which works once, with a password or a passkey. It verifies the email, as a password reset does, and
 * does not sign in. Returns the linked providers for the owner to check.
 * @throws AppError validation_failed, invalid_code, passkey_invalid, passkey_registered: without using up the invitation;
 *   invalid_or_expired_token, also if the account is disabled, or has a password or a passkey by now; rate_limited, overloaded
 */
export async function acceptInvitation(
  ctx: Deps,
  { token, password, passkey, name, code }: AcceptInvitation,
  caller: Caller,
): Promise<LinkedIdentity[]> {
  if (passkey === undefined)
    return setPasswordByLink(ctx, INVITATION, { token, password: password ?? "", code }, caller);
  const account = await requireLink(ctx, INVITATION, token, caller);
  const credential = await verifyNewPasskey(ctx, passkey, { purpose: "invitation", accountId: account.id });
  const consumeCode = await requireLinkCode(ctx, account.id, code, caller);
  await ctx.db.$transaction(async (tx) => {
    await consumeLink(ctx, tx, INVITATION, { account, token, consumeCode }, caller);
    await addPasskey(ctx, tx, account, { credential, name }, caller);
  });
  ctx.emails.wake();
  return listIdentities(ctx.db, account.id);
}
