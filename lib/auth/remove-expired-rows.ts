import type { Context } from "../context";
import { pseudonymizeEvents } from "../platform/audit/retention";
import { deleteBatch, removeInBatches, selectBatch } from "../platform/db/remove-in-batches";
import { sql } from "../platform/db/sql";
import { accountDeleted } from "../webhooks/events";
import { unverifiedExpiresAt } from "./email-verification";
import { queueRevocations } from "./sign-in-providers/apple-tokens";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "now" | "webhooks">;

const DAY_MS = 24 * 60 * 60 * 1000;

/** Removes expired rows, and accounts whose email had to be verified and was not. Returns how many. */
export async function removeExpiredRows(ctx: Deps): Promise<number> {
  const { config, db, dbNow } = ctx;
  const at = ctx.now();
  const expired = sql`"expiresAt" < ${at}::timestamptz`;
  const expiredForADay = sql`"expiresAt" < ${new Date(at.getTime() - DAY_MS)}::timestamptz`;
  const statements = [
    sql`
      WITH expired AS MATERIALIZED (${selectBatch("Session", "id", expired, "expiresAt")}), devices AS (
        DELETE FROM "PushDevice" WHERE "sessionId" IN (SELECT "id" FROM expired)
      )
      DELETE FROM "Session" WHERE "id" IN (SELECT "id" FROM expired)`,
    deleteBatch("SignInThrottle", "key", expired, "expiresAt"),
    deleteBatch("RecognizedClient", "key", expired, "expiresAt"),
    deleteBatch("PasswordResetToken", "accountId", expired, "expiresAt"),
    deleteBatch("Invitation", "accountId", expired, "expiresAt"),
    deleteBatch("VerificationToken", "id", expired, "expiresAt"),
    deleteBatch("SignInChallenge", "id", expired, "expiresAt"),
    deleteBatch("TotpFactor", "id", expired, "expiresAt"),
    deleteBatch("PasskeyChallenge", "challenge", expired, "expiresAt"),
    deleteBatch("EmailChange", "id", expired, "expiresAt"),
    deleteBatch("FirstOperatorLink", "tokenHash", expired, "expiresAt"),
    deleteBatch("AuthorizationCode", "id", expiredForADay, "expiresAt"),
    deleteBatch("DeviceCode", "id", expiredForADay, "expiresAt"),
    // One without a response may have been made: its change's id is kept as long as a response is.
    deleteBatch(
      "IdempotentRequest",
      "id",
      sql`"expiresAt" < ${dbNow()} AND ("status" IS NOT NULL OR ${expiredForADay})`,
      "expiresAt",
    ),
    deleteBatch("UsedIdToken", "hash", expiredForADay, "expiresAt"),
    deleteBatch("RateLimitCounter", "key", sql`"expiresAt" < ${dbNow()}`, "expiresAt"),
  ];
  let removed = 0;
  for (const statement of statements) removed += await removeInBatches(() => db.$executeRaw(statement));
  if (!config.AUTH_REQUIRE_VERIFIED_EMAIL) return removed;
  await removeInBatches(() => scheduleRemoval(db, at));
  return removed + (await removeInBatches(() => removeUnverifiedAccounts(ctx, at)));
}

/** Gives the accounts that were created while emails did not have to be verified the same time from now on. */
function scheduleRemoval(db: Deps["db"], at: Date): Promise<number> {
  const unscheduled = sql`
    "createdAt" <= ${at}::timestamptz AND "emailVerifiedAt" IS NULL AND "unverifiedExpiresAt" IS NULL`;
  return db.$executeRaw`
    UPDATE "Account" SET "unverifiedExpiresAt" = ${unverifiedExpiresAt(at)}::timestamptz
    WHERE "id" IN (${selectBatch("Account", "id", unscheduled, "createdAt")})`;
}

/**
 * Removes a batch of accounts whose email was not verified in time. Keeps those that are in use: with a live session, a
 * purchase or a role. Keeps disabled ones, whose email would be free for a new account.
 */
function removeUnverifiedAccounts(
  { config, db, dbNow, webhooks }: Pick<Deps, "config" | "db" | "dbNow" | "webhooks">,
  at: Date,
): Promise<number> {
  const condition = sql`"unverifiedExpiresAt" < ${at}::timestamptz AND "emailVerifiedAt" IS NULL AND NOT EXISTS (
    SELECT FROM "VerificationToken" WHERE "accountId" = "Account"."id" AND "expiresAt" > ${at}::timestamptz)
    AND NOT EXISTS (SELECT FROM "Invitation" WHERE "accountId" = "Account"."id" AND "expiresAt" > ${at}::timestamptz)
    AND "role" = 'user' AND "disabledAt" IS NULL
    AND NOT EXISTS (SELECT FROM "Session" WHERE "accountId" = "Account"."id" AND "revokedAt" IS NULL
      AND "expiresAt" > ${at}::timestamptz AND "idleExpiresAt" > ${at}::timestamptz)
    AND NOT EXISTS (SELECT FROM "Purchase" WHERE "accountId" = "Account"."id")
    AND NOT EXISTS (SELECT FROM "BillingEvent" WHERE "accountId" = "Account"."id")`;
  const statement = deleteBatch("Account", "id", condition, "unverifiedExpiresAt");
  return db.$transaction(async (tx) => {
    const accounts = await tx.$queryRaw<{ id: string }[]>`
      WITH deleted AS (${statement} RETURNING "id", "email"), revocations AS (${queueRevocations(dbNow())})
      SELECT "id"::text FROM deleted`;
    const ids = accounts.map(({ id }) => id);
    await pseudonymizeEvents(config, tx, ids);
    await webhooks.record(tx, ids.map(accountDeleted));
    return accounts.length;
  });
}
