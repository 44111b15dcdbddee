import { emailedToken, findEmailedToken, hashEmailedToken } from "../auth/emailed-token";
import type { Context } from "../context";
import { newId } from "../platform/db/ids";

type Deps = Pick<Context, "config" | "db" | "now">;

export const RESET_TTL_MINUTES = 30;

/**
 * The token of a password reset link, valid for 30 minutes from now; null if the email has no account. A token is
 * reused for 30 minutes after its creation, so that another request does not invalidate the link that was just sent.
 */
export async function issueResetToken({ config, db, now }: Deps, email: string): Promise<string | null> {
  const at = now();
  const ttlMs = RESET_TTL_MINUTES * 60 * 1000;
  const expiresAt = new Date(at.getTime() + ttlMs);
  // The second round replaces a live row whose token was made with a secret that is no longer in the ring.
  for (const reusedFrom of [new Date(at.getTime() - ttlMs), expiresAt]) {
    const id = newId();
    const [row] = await db.$queryRaw<{ id: string; tokenHash: string }[]>`
      INSERT INTO "PasswordResetToken" AS live ("accountId", "id", "tokenHash", "createdAt", "expiresAt")
      SELECT "id", ${id}::uuid, ${hashEmailedToken(emailedToken(config, "password-reset", id))}, ${at}::timestamptz, ${expiresAt}::timestamptz
      FROM "Account" WHERE "email" = ${email}
      ON CONFLICT ("accountId") DO UPDATE SET
        ("id", "tokenHash", "createdAt", "expiresAt") = (SELECT
          CASE WHEN isReused THEN live."id" ELSE EXCLUDED."id" END,
          CASE WHEN isReused THEN live."tokenHash" ELSE EXCLUDED."tokenHash" END,
          CASE WHEN isReused THEN live."createdAt" ELSE EXCLUDED."createdAt" END,
          EXCLUDED."expiresAt"
          FROM (SELECT live."createdAt" > ${reusedFrom}::timestamptz AND live."createdAt" <= EXCLUDED."createdAt"
            AND live."expiresAt" > EXCLUDED."createdAt" AS isReused) AS age)
      RETURNING "id", "tokenHash"`;
    if (!row) return null;
    const isStored = (token: string) => hashEmailedToken(token) === row.tokenHash;
    const token = findEmailedToken(config, "password-reset", row.id, isStored);
    if (token) return token;
  }
  throw new Error("A process with another secret replaced the reset token");
}
