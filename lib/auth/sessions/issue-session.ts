import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { networkOf } from "../../platform/audit/security-events";
import type { Prisma } from "../../platform/db/generated/client";
import { empty, sql } from "../../platform/db/sql";
import type { Caller } from "../../principal";
import { enqueue } from "../../push/outbox/enqueue";
import { requireEnabled } from "../account-checks";
import { consumeEmailLimit } from "../email-limits";
import { clientKeys, isRecognized, recognizedClientCondition } from "../recognized-clients";
import type { AttemptCounters } from "../sign-in-throttle";
import type { Authentication } from "./authentication";
import { clientName, UNKNOWN_CLIENT } from "./client-name";
import { type CreatedSession, createSession } from "./create-session";
import { type SessionOptions, sessionToken, type Transport } from "./sessions";

/** A hash of the password of a sign-in that replaces the stored one. */
export type NewHash = { outdated: string; passwordHash: string };
/** An account that has been authenticated, as its row was then, and the counters of its attempt. */
export type AuthenticatedAccount = {
  id: string;
  email: string;
  sessionEpoch: number;
  attempt?: AttemptCounters;
  newHash?: NewHash | null;
  /** Throws if what authenticated the account is gone. Runs with the account locked, before a session is created. */
  precondition?: (tx: Tx) => Promise<void>;
};
type SessionDeps = Pick<Context, "config" | "db" | "dbNow" | "emails" | "limits" | "now" | "removeDevices">;

/**
 * Creates a session for an account that has been authenticated, and notifies the devices of its other sessions. If the
 * account does not recognize the client, its owner gets an email. `account` is the row that was authenticated; the counters
 * of its attempt are cleared. Returns the session, the claims of its token, and the token. One statement suffices for
 * most sign-ins; a transaction is needed to notify somebody, and for a precondition.
 * @throws AppError account_disabled; invalid_credentials if the account was deleted, or its password reset, since; those of
 *   the precondition
 */
export async function issueSession(
  ctx: SessionDeps,
  account: AuthenticatedAccount,
  { authentication, transport, deviceName }: SessionOptions & { authentication: Authentication },
  caller: Caller,
): Promise<Pick<CreatedSession, "session" | "claims"> & { token: string }> {
  const now = ctx.now();
  const create = async (tx: Tx, accountStatement: Prisma.Sql) => {
    const options = { account, accountStatement, event: "signed_in", authentication, transport, deviceName } as const;
    const created = await createSession(ctx, tx, now, { ...options, attempt: account.attempt }, caller);
    if (created && created.revoked.length > 0) await ctx.removeDevices(tx, { sessionIds: created.revoked });
    return created;
  };
  const key = await clientKey(ctx, account, transport, caller);
  const createAndNotify = async () => {
    const email = await newSignInEmail(ctx, account, { key, deviceName }, caller);
    const created = await ctx.db.$transaction(async (tx) => {
      const statement = await lockAccount(tx, account, caller);
      await account.precondition?.(tx);
      const created = await create(tx, statement);
      if (!created) throw new AppError("invalid_credentials");
      await enqueue(tx, ctx.dbNow(), newSignIn(account, created.session.id, deviceName, caller));
      if (email) await ctx.emails.enqueue(tx, "new_sign_in", account.email, email);
      return created;
    });
    if (email) ctx.emails.wake();
    return created;
  };
  const statement = lockIfUnchanged(account, recognizedClientCondition(key, now), caller);
  const created = account.precondition ? null : await create(ctx.db, statement);
  const { session, claims } = created ?? (await createAndNotify());
  return { session, claims, token: await sessionToken(ctx, claims) };
}

/**
 * Locks an account that needs no notification: it has no device and recognizes the client. Returns no row if another
 * transaction changed the account, for example by a concurrent sign-in, since this statement began: it would not see
 * that transaction's sessions. Each sign-in therefore makes a new version of the row, which `xmin` identifies
 * (PostgreSQL, 5.6 "System Columns").
 */
function lockIfUnchanged(account: AuthenticatedAccount, recognizedCondition: Prisma.Sql, caller: Caller): Prisma.Sql {
  const { id, sessionEpoch } = account;
  return sql`
    WITH seen AS MATERIALIZED (SELECT xmin AS version FROM "Account" WHERE "id" = ${id}::uuid)
    UPDATE "Account" SET ${onSignIn(account, caller)} FROM seen
    WHERE "id" = ${id}::uuid AND "sessionEpoch" = ${sessionEpoch}::integer AND "Account".xmin = seen.version
      AND "disabledAt" IS NULL AND ${recognizedCondition}
      AND NOT EXISTS (SELECT FROM "PushDevice" WHERE "accountId" = ${id}::uuid)
    RETURNING "id"`;
}

/**
 * Locks the account until the end of the transaction. Returns the statement that selects it.
 * @throws AppError account_disabled
 */
async function lockAccount(tx: Tx, account: AuthenticatedAccount, caller: Caller): Promise<Prisma.Sql> {
  const { id, sessionEpoch } = account;
  const [row] = await tx.$queryRaw<{ disabledAt: Date | null }[]>`
    UPDATE "Account" SET ${onSignIn(account, caller)}
    WHERE "id" = ${id}::uuid AND "sessionEpoch" = ${sessionEpoch}::integer RETURNING "disabledAt"`;
  if (row) requireEnabled(row);
  return sql`SELECT ${id}::uuid AS "id" WHERE ${row !== undefined}::boolean`;
}

/** What a sign-in changes in its account. The first client that names a language decides it. */
function onSignIn({ newHash }: AuthenticatedAccount, { locale = null }: Caller): Prisma.Sql {
  const hash = newHash
    ? sql`, "passwordHash" = CASE WHEN "passwordHash" = ${newHash.outdated} THEN ${newHash.passwordHash} ELSE "passwordHash" END`
    : empty;
  return sql`"unverifiedExpiresAt" = NULL, "locale" = COALESCE("locale", ${locale}::text)${hash}`;
}

/** Replaces the hash, unless the password has changed since. */
export async function storeNewHash(tx: Tx, id: string, { outdated, passwordHash }: NewHash): Promise<void> {
  await tx.account.updateMany({ where: { id, passwordHash: outdated }, data: { passwordHash } });
}

function newSignIn(account: AuthenticatedAccount, eventId: string, deviceName: string | null, { userAgent }: Caller) {
  const client = clientName(deviceName, userAgent);
  const message = { kind: "security.new_sign_in", eventId, client } as const;
  return { eventKey: `sign-in:${eventId}`, to: { accountId: account.id }, message };
}

/** How long after its creation an account's first session is expected: as long as the account may stay unverified. */
const FIRST_SIGN_IN_MS = 30 * 24 * 60 * 60 * 1000;

/**
 * The key by which an account recognizes the client that signs in. A browser is recognized by its cookie alone, since
 * others may share its network; a client without cookies by its network.
 */
async function clientKey(
  ctx: Pick<Context, "limits">,
  { email }: AuthenticatedAccount,
  transport: Transport,
  caller: Caller,
) {
  const { device, network } = await clientKeys(ctx, email, caller);
  return transport === "cookie" ? device : network;
}

/**
 * The data of the email about a sign-in from an unrecognized client; null if no email is due: the client is recognized,
 * this is the account's first sign-in, or the limit for these emails is reached. Only a verified email is sent a name
 * that the client chose, so that nobody sends texts of their own to strangers.
 */
async function newSignInEmail(
  ctx: Pick<Context, "db" | "limits" | "now">,
  { id, email }: AuthenticatedAccount,
  { key, deviceName }: { key: string; deviceName: string | null },
  caller: Caller,
): Promise<{ client: string | null; network: string | null; at: string } | null> {
  if (await isRecognized(ctx, key)) return null;
  const at = ctx.now();
  const account = await ctx.db.account.findUnique({
    where: { id },
    select: { createdAt: true, emailVerifiedAt: true },
  });
  if (!account) return null;
  const isNew = at.getTime() - account.createdAt.getTime() <= FIRST_SIGN_IN_MS;
  const isFirst =
    isNew && (await ctx.db.session.findFirst({ where: { accountId: id }, select: { id: true } })) === null;
  if (isFirst || !(await consumeEmailLimit(ctx, "signIn", email, caller.ip))) return null;
  const client = clientName(account.emailVerifiedAt && deviceName, caller.userAgent);
  return { client: client === UNKNOWN_CLIENT ? null : client, network: networkOf(caller.ip), at: at.toISOString() };
}
