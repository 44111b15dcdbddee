import { createHash, createHmac } from "node:crypto";
import type { Context } from "../context";
import { newId } from "../db/ids";

type Deps = Pick<Context, "config" | "db" | "now">;

export const RESET_TTL_MINUTES = 30;

/**
 * The token of a mailed link that sets a new password, good for 30 minutes from now; null where nobody has the
 * address. Within half an hour of its making it is the same token, so that nobody breaks the link that an owner is
 * about to follow by asking for another. It can be made again for that, by nobody without the secret.
 */
export async function issueResetToken({ config, db, now }: Deps, email: string): Promise<string | null> {
  const at = now();
  const ttlMs = RESET_TTL_MINUTES * 60 * 1000;
  const expiresAt = new Date(at.getTime() + ttlMs);
  const tokenOf = (id: string) =>
    createHmac("sha256", config.secret).update(`password-reset:${id}`).digest("base64url");
  // A live row of another secret, or of a version that kept random tokens, is replaced by the second round.
  for (const reusedFrom of [new Date(at.getTime() - ttlMs), expiresAt]) {
    const id = newId();
    const [row] = await db.$queryRaw<{ id: string; tokenHash: string }[]>`
      INSERT INTO "PasswordResetToken" AS live ("accountId", "id", "tokenHash", "createdAt", "expiresAt")
      SELECT "id", ${id}::uuid, ${hashResetToken(tokenOf(id))}, ${at}::timestamptz, ${expiresAt}::timestamptz
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
    const token = tokenOf(row.id);
    if (hashResetToken(token) === row.tokenHash) return token;
  }
  throw new Error("The reset token was replaced by another process at the same moment");
}

/** What is kept of a reset token. It has 256 bits that nobody guesses, so that a plain hash does. */
export function hashResetToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
