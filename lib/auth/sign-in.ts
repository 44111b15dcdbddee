import type { Caller } from "../audit/caller";
import { recordFailedSignIn } from "../audit/security-events";
import type { Context, Tx } from "../context";
import type { Account, Prisma } from "../db/generated/client";
import { sql } from "../db/sql";
import { AppError, isAppError } from "../errors";
import { enqueue } from "../push/outbox/enqueue";
import {
  type AttemptCounters,
  beginAttempt,
  beginAttemptByDevice,
  clearAttempt,
  recordFailure,
  shouldWait,
  withdrawAttempt,
} from "./limits/sign-in-throttle";
import { hashPassword, isOutdated, isPasswordCorrect } from "./passwords/password-hash";
import { normalizePassword } from "./passwords/policy";
import { requireEnabled } from "./require-enabled";
import type { Authentication } from "./sessions/authentication";
import { clientName } from "./sessions/client-name";
import { type CreatedSession, createSession } from "./sessions/create-session";
import { isKnownClient, newSignInEmail } from "./sessions/new-client";
import { sessionToken, type Transport } from "./sessions/sessions";
import { requireVerifiedEmail } from "./verification/email-verification";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "emails" | "now">;
/** An account whose password was checked, and the attempt that `issueSession` clears. */
export type VerifiedAccount = Account & { attempt: AttemptCounters };
type EmailAndPassword = { email: string; password: string };

/**
 * The password check of /login and next-auth. It counts an attempt before it looks the account up, and costs the same
 * for known and unknown emails. An attempt is not counted if the password could not be checked, because the service was
 * busy or the database was down. A device that the account recognizes is not subject to the limit of its IP.
 * @throws AppError invalid_credentials, account_disabled, email_not_verified, rate_limited, overloaded
 */
export async function verifyPassword(ctx: Deps, given: EmailAndPassword, caller: Caller): Promise<VerifiedAccount> {
  const byDevice = await beginAttemptByDevice(ctx, given.email, caller);
  if (!byDevice) await ctx.limits.consume("loginByIp", caller.ip);
  const refund = async () => byDevice !== null || ctx.limits.refund("loginByIp", caller.ip);
  const attempt = byDevice ?? (await beginAttempt(ctx, given.email, caller));
  const { account, isCorrect } = await comparePassword(ctx, given).catch(async (error: unknown) => {
    await Promise.allSettled([withdrawAttempt(ctx, attempt), refund()]);
    throw error;
  });
  if (!account || !isCorrect) {
    await recordFailedAttempt(ctx, given.email, attempt, caller);
    throw new AppError("invalid_credentials");
  }
  await refund();
  try {
    requireEnabled(account);
    await requireVerifiedEmail(ctx, account, caller);
  } catch (error) {
    await clearAttempt(ctx.db, attempt);
    throw error;
  }
  return { ...account, attempt };
}

/** Known and unknown emails run the same statements. */
async function recordFailedAttempt(ctx: Deps, email: string, attempt: AttemptCounters, caller: Caller): Promise<void> {
  const at = ctx.now();
  if (!shouldWait(attempt)) return recordFailedSignIn(ctx.db, at, email, caller);
  await ctx.db.$transaction(async (tx) => {
    await recordFailure(tx, at, attempt);
    await recordFailedSignIn(tx, at, email, caller);
  });
}

async function comparePassword(ctx: Deps, { email, password }: EmailAndPassword) {
  const account = await ctx.db.account.findUnique({ where: { email } });
  const isCorrect = await isPasswordCorrect(ctx, password, account?.passwordHash ?? null);
  if (account?.passwordHash && isCorrect && isOutdated(ctx, account.passwordHash)) {
    await rehashPassword(ctx, account.id, account.passwordHash, password);
  }
  return { account, isCorrect };
}

/**
 * Rehashes a password at the configured cost, unless it has changed since. Skipped while other tasks wait for the
 * hasher, so that a sign-in never waits for it twice.
 */
async function rehashPassword(ctx: Deps, id: string, outdated: string, password: string): Promise<void> {
  if (ctx.hasher.isBusy()) return;
  try {
    const passwordHash = await hashPassword(ctx, normalizePassword(password));
    await ctx.db.account.updateMany({ where: { id, passwordHash: outdated }, data: { passwordHash } });
  } catch (error) {
    if (!isAppError(error)) throw error;
  }
}

type SessionOptions = { authentication: Authentication; transport: Transport; deviceName: string | null };
type Authenticated = { id: string; email: string; sessionEpoch: number; attempt?: AttemptCounters };
type SessionDeps = Pick<Context, "config" | "db" | "dbNow" | "emails" | "limits" | "now" | "removeDevices">;

/**
 * Creates a session for an account that has been authenticated, and notifies the devices of its other sessions. If the
 * account does not recognize the client, its owner gets an email. `account` is the row that was authenticated; the counters
 * of its attempt are cleared. Returns the session, the claims of its token, and the token. One statement suffices for
 * most sign-ins; a transaction is needed to notify somebody.
 * @throws AppError account_disabled; invalid_credentials if the account was deleted, or its password reset, since
 */
export async function issueSession(
  ctx: SessionDeps,
  account: Authenticated,
  { authentication, transport, deviceName }: SessionOptions,
  caller: Caller,
): Promise<Pick<CreatedSession, "session" | "claims"> & { token: string }> {
  const now = ctx.now();
  const create = async (tx: Tx, accountStatement: Prisma.Sql) => {
    const options = { account, accountStatement, event: "signed_in", authentication, transport, deviceName } as const;
    const created = await createSession(ctx, tx, now, { ...options, attempt: account.attempt }, caller);
    if (created && created.revoked.length > 0) await ctx.removeDevices(tx, { sessionIds: created.revoked });
    return created;
  };
  const isKnown = await isKnownClient(ctx, account, transport, caller);
  const createAndNotify = async () => {
    const email = await newSignInEmail(ctx, account, { isKnown, deviceName }, caller);
    const created = await ctx.db.$transaction(async (tx) => {
      const created = await create(tx, await lockAccount(tx, account, caller));
      if (!created) throw new AppError("invalid_credentials");
      await enqueue(tx, ctx.dbNow(), newSignIn(account, created.session.id, deviceName, caller));
      if (email) await ctx.emails.enqueue(tx, "new_sign_in", account.email, email);
      return created;
    });
    if (email) ctx.emails.wake();
    return created;
  };
  const statement = lockIfUndisturbed(account, isKnown, caller);
  const { session, claims } = (await create(ctx.db, statement)) ?? (await createAndNotify());
  return { session, claims, token: await sessionToken(ctx, claims) };
}

/**
 * Locks an account that has nobody to notify: it has no device, and knows the client. Returns no row if another
 * transaction changed the account, for example by a concurrent sign-in, since this statement began: it would not see
 * that transaction's sessions. Each sign-in therefore makes a new version of the row, which `xmin` identifies
 * (PostgreSQL, 5.6 "System Columns").
 */
function lockIfUndisturbed({ id, sessionEpoch }: Authenticated, isKnown: Prisma.Sql, caller: Caller): Prisma.Sql {
  return sql`
    WITH seen AS MATERIALIZED (SELECT xmin AS version FROM "Account" WHERE "id" = ${id}::uuid)
    UPDATE "Account" SET ${onSignIn(caller)} FROM seen
    WHERE "id" = ${id}::uuid AND "sessionEpoch" = ${sessionEpoch}::integer AND "Account".xmin = seen.version
      AND "disabledAt" IS NULL AND ${isKnown}
      AND NOT EXISTS (SELECT FROM "PushDevice" WHERE "accountId" = ${id}::uuid)
    RETURNING "id"`;
}

/**
 * Locks the account until the end of the transaction. Returns the statement that selects it.
 * @throws AppError account_disabled
 */
async function lockAccount(tx: Tx, { id, sessionEpoch }: Authenticated, caller: Caller): Promise<Prisma.Sql> {
  const [row] = await tx.$queryRaw<{ disabledAt: Date | null }[]>`
    UPDATE "Account" SET ${onSignIn(caller)}
    WHERE "id" = ${id}::uuid AND "sessionEpoch" = ${sessionEpoch}::integer RETURNING "disabledAt"`;
  if (row) requireEnabled(row);
  return sql`SELECT ${id}::uuid AS "id" WHERE ${row !== undefined}::boolean`;
}

/** What a sign-in changes in its account. The first client that names a language decides it. */
function onSignIn({ locale = null }: Caller): Prisma.Sql {
  return sql`"unverifiedExpiresAt" = NULL, "locale" = COALESCE("locale", ${locale}::text)`;
}

function newSignIn(account: Authenticated, eventId: string, deviceName: string | null, { userAgent }: Caller) {
  const client = clientName(deviceName, userAgent);
  const message = { kind: "security.new_sign_in", eventId, client } as const;
  return { eventKey: `sign-in:${eventId}`, to: { accountId: account.id }, message };
}
