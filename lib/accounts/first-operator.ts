import { randomBytes } from "node:crypto";
import { lockAccount } from "../auth/account-checks";
import { hashEmailedToken } from "../auth/emailed-token";
import { hashPassword } from "../auth/passwords/password-hash";
import { checkNewPassword, rejectBreached, rejectOwnEmail } from "../auth/passwords/policy";
import { reservedEmailCondition } from "../auth/reserved-emails";
import { BY_PASSWORD } from "../auth/sessions/authentication";
import { createSession } from "../auth/sessions/create-session";
import { sessionToken } from "../auth/sessions/sessions";
import type { Context, Tx } from "../context";
import { AppError } from "../errors";
import { recordSecurityEvent } from "../platform/audit/security-events";
import { newId } from "../platform/db/ids";
import { sql } from "../platform/db/sql";
import { withRetry } from "../platform/db/transaction";
import { isSameSecret } from "../platform/keys/same-secret";
import type { Caller } from "../principal";
import { accountCreated } from "../webhooks/events";
import type { FirstOperatorLink } from "./admin/schema";
import type { Register } from "./schema";

type LinkDeps = Pick<Deps, "config" | "db" | "now">;

type Deps = Pick<Context, "breaches" | "config" | "db" | "hasher" | "limits" | "now" | "webhooks">;

/** How long a link to become the first operator works. */
export const LINK_TTL_SECONDS = 30 * 60;

/**
 * Creates a link by which one person can become the first admin, on any instance of the service. Returns its URL; null if
 * there is an admin. Only the token's hash is stored, and the token is in the fragment, which browsers send to no server.
 */
export async function createFirstOperatorLink({ config, db, now }: LinkDeps): Promise<string | null> {
  if (await hasAdmin(db)) return null;
  const at = now();
  const token = randomBytes(32).toString("base64url");
  const expiresAt = new Date(at.getTime() + LINK_TTL_SECONDS * 1000);
  await db.firstOperatorLink.deleteMany({ where: { expiresAt: { lte: at } } });
  await db.firstOperatorLink.create({ data: { tokenHash: hashEmailedToken(token), expiresAt } });
  return `${config.baseUrl}/first-operator#token=${token}`;
}

/** The same, for a command. @throws AppError admin_exists */
export async function requestFirstOperatorLink(deps: LinkDeps): Promise<FirstOperatorLink> {
  const url = await createFirstOperatorLink(deps);
  if (url === null) throw new AppError("admin_exists");
  return { url, ttlSeconds: LINK_TTL_SECONDS };
}

/** Whether an account has the role admin. */
export async function hasAdmin(db: Tx): Promise<boolean> {
  // The constant lets PostgreSQL use the partial index of operators.
  const admins = await db.$queryRaw<unknown[]>`SELECT FROM "Account" WHERE "role" = 'admin' LIMIT 1`;
  return admins.length > 0;
}

/** Checks a link without using it. @throws AppError invalid_or_expired_token */
export async function requireFirstOperatorLink({ db, now }: Omit<LinkDeps, "config">, token: string): Promise<void> {
  const link = await db.firstOperatorLink.findUnique({ where: { tokenHash: hashEmailedToken(token) } });
  if (!link || link.expiresAt <= now() || (await hasAdmin(db))) throw new AppError("invalid_or_expired_token");
}

/**
 * Uses a link, and with it all others, in the transaction that makes the admin. Of two people who use links at the same
 * time, the second waits for the locks of the first one's rows, and then finds none.
 * @throws AppError invalid_or_expired_token
 */
async function consumeFirstOperatorLink(tx: Tx, at: Date, token: string): Promise<void> {
  const links = await tx.$queryRaw<{ tokenHash: string; expiresAt: Date }[]>`
    DELETE FROM "FirstOperatorLink" WHERE "tokenHash" IN (
      SELECT "tokenHash" FROM "FirstOperatorLink" ORDER BY "tokenHash" FOR UPDATE)
    RETURNING "tokenHash", "expiresAt"`;
  const link = links.find(({ tokenHash }) => isSameSecret(tokenHash, hashEmailedToken(token)));
  if (!link || link.expiresAt <= at || (await hasAdmin(tx))) throw new AppError("invalid_or_expired_token");
}

/** Makes an account the first admin, by a link. @throws AppError invalid_or_expired_token, also if there is an admin */
export async function becomeFirstOperator(
  ctx: Pick<Deps, "db" | "now">,
  token: string,
  accountId: string,
  caller: Caller,
) {
  await requireFirstOperatorLink(ctx, token);
  await withRetry(() =>
    ctx.db.$transaction(async (tx) => {
      await consumeFirstOperatorLink(tx, ctx.now(), token);
      await makeAdmin(tx, ctx.now(), accountId, caller);
    }),
  );
}

/**
 * Creates the account of the first admin and signs it in. Its email needs no verification: anyone who can read the
 * service's terminal is trusted, and mail may not work yet.
 * @throws AppError invalid_or_expired_token, validation_failed, email_taken, rate_limited, overloaded
 */
export async function registerFirstOperator(
  ctx: Deps,
  token: string,
  { email, name, password: given, locale }: Pick<Register, "email" | "password" | "name" | "locale">,
  caller: Caller,
) {
  await requireFirstOperatorLink(ctx, token);
  const password = await checkNewPassword(ctx, given);
  rejectOwnEmail(password, email);
  await ctx.limits.consume("registerByIp", caller.ip);
  await rejectBreached(ctx, password);
  const passwordHash = await hashPassword(ctx, password);
  const at = ctx.now();
  const account = { id: newId(), email, sessionEpoch: 0 };
  const accountStatement = sql`
    INSERT INTO "Account"
      ("id", "email", "name", "passwordHash", "locale", "emailVerifiedAt", "createdAt", "updatedAt")
    SELECT ${account.id}::uuid, ${email}, ${name ?? null}, ${passwordHash}, ${locale ?? caller.locale ?? null}, at, at, at
    FROM (SELECT ${at}::timestamptz AS at) AS clock WHERE NOT ${reservedEmailCondition(email, at)}
    ON CONFLICT ("email") DO NOTHING RETURNING "id"`;
  const options = { account, accountStatement, transport: "cookie", deviceName: null } as const;
  const created = await withRetry(() =>
    ctx.db.$transaction(async (tx) => {
      await consumeFirstOperatorLink(tx, at, token);
      const registration = { ...options, event: "registered", authentication: BY_PASSWORD } as const;
      const session = await createSession(ctx, tx, at, registration, caller);
      if (!session) throw new AppError("email_taken");
      await makeAdmin(tx, at, account.id, caller);
      await ctx.webhooks.record(tx, [accountCreated(account.id)]);
      return session;
    }),
  );
  const session = { session: created.session, token: await sessionToken(ctx, created.claims) };
  return { ...session, deviceId: caller.deviceId };
}

async function makeAdmin(tx: Tx, at: Date, id: string, caller: Caller): Promise<void> {
  await lockAccount(tx, id);
  const before = await tx.account.findUnique({ where: { id }, select: { role: true } });
  if (!before) throw new AppError("unauthenticated");
  await tx.account.update({ where: { id }, data: { role: "admin" } });
  const details = { from: before.role, to: "admin", by: "the link for the first operator" };
  await recordSecurityEvent(tx, at, id, "role_changed", caller, { details });
}
