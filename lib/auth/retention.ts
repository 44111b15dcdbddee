import type { Context } from "../context";

type Deps = Pick<Context, "db" | "now">;

const EVENTS_MS = 90 * 24 * 60 * 60 * 1000;
/** Rows a statement removes: each is over soon, however much there is. */
const BATCH = 1_000;

/**
 * Removes security events after 90 days, sessions once they have expired with the devices that they registered,
 * mailed tokens, accounts whose address had to be verified and was not, the failures of sign-ins that are forgotten, the
 * clients that are no longer recognized, and the limits' windows that are over. Returns how many rows went.
 */
export async function removeExpiredRows({ db, now }: Deps): Promise<number> {
  const at = now();
  const since = new Date(at.getTime() - EVENTS_MS);
  const statements = [
    () => db.$executeRaw`
      DELETE FROM "SecurityEvent" WHERE "id" IN (SELECT "id" FROM "SecurityEvent"
        WHERE "at" < ${since}::timestamptz ORDER BY "at" LIMIT ${BATCH}::integer FOR UPDATE SKIP LOCKED)`,
    () => db.$executeRaw`
      WITH expired AS MATERIALIZED (SELECT "id" FROM "Session"
        WHERE "expiresAt" < ${at}::timestamptz ORDER BY "expiresAt" LIMIT ${BATCH}::integer FOR UPDATE SKIP LOCKED
      ), devices AS (
        DELETE FROM "PushDevice" WHERE "sessionId" IN (SELECT "id" FROM expired)
      )
      DELETE FROM "Session" WHERE "id" IN (SELECT "id" FROM expired)`,
    () => db.$executeRaw`
      DELETE FROM "SignInThrottle" WHERE "key" IN (SELECT "key" FROM "SignInThrottle"
        WHERE "expiresAt" < ${at}::timestamptz ORDER BY "expiresAt" LIMIT ${BATCH}::integer FOR UPDATE SKIP LOCKED)`,
    () => db.$executeRaw`
      DELETE FROM "RecognizedClient" WHERE "key" IN (SELECT "key" FROM "RecognizedClient"
        WHERE "expiresAt" < ${at}::timestamptz ORDER BY "expiresAt" LIMIT ${BATCH}::integer FOR UPDATE SKIP LOCKED)`,
    () => db.$executeRaw`
      DELETE FROM "PasswordResetToken" WHERE "accountId" IN (SELECT "accountId" FROM "PasswordResetToken"
        WHERE "expiresAt" < ${at}::timestamptz ORDER BY "expiresAt" LIMIT ${BATCH}::integer FOR UPDATE SKIP LOCKED)`,
    () => db.$executeRaw`
      DELETE FROM "VerificationToken" WHERE "id" IN (SELECT "id" FROM "VerificationToken"
        WHERE "expiresAt" < ${at}::timestamptz ORDER BY "expiresAt" LIMIT ${BATCH}::integer FOR UPDATE SKIP LOCKED)`,
    () => db.$executeRaw`
      DELETE FROM "RateLimit" WHERE "key" IN (SELECT "key" FROM "RateLimit"
        WHERE "expire" < ${at.getTime()}::bigint ORDER BY "expire" LIMIT ${BATCH}::integer FOR UPDATE SKIP LOCKED)`,
    // An account that nobody signed in to: it has no session, device or purchase.
    () => db.$executeRaw`
      DELETE FROM "Account" WHERE "id" IN (SELECT "id" FROM "Account"
        WHERE "unverifiedExpiresAt" < ${at}::timestamptz AND "emailVerifiedAt" IS NULL AND NOT EXISTS (
          SELECT FROM "VerificationToken" WHERE "accountId" = "Account"."id" AND "expiresAt" > ${at}::timestamptz)
        ORDER BY "unverifiedExpiresAt" LIMIT ${BATCH}::integer FOR UPDATE SKIP LOCKED)`,
  ];
  let removed = 0;
  for (const remove of statements) {
    for (let count = BATCH; count >= BATCH; removed += count) count = await remove();
  }
  return removed;
}
