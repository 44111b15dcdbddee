import { randomBytes } from "node:crypto";
import { hashEmailedToken } from "../../auth/emailed-token";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";

type Deps = Pick<Context, "config" | "db" | "now">;

/** How long a link to become the first operator works. */
export const LINK_TTL_SECONDS = 30 * 60;

/**
 * Creates a link by which one person can become the first admin, on any instance of the service. Returns its URL; null if
 * there is an admin. Only the token's hash is stored, and the token is in the fragment, which browsers send to no server.
 */
export async function createFirstOperatorLink({ config, db, now }: Deps): Promise<string | null> {
  if (await hasAdmin(db)) return null;
  const at = now();
  const token = randomBytes(32).toString("base64url");
  const expiresAt = new Date(at.getTime() + LINK_TTL_SECONDS * 1000);
  await db.firstOperatorLink.deleteMany({ where: { expiresAt: { lte: at } } });
  await db.firstOperatorLink.create({ data: { tokenHash: hashEmailedToken(token), expiresAt } });
  return `${config.baseUrl}/first-operator#token=${token}`;
}

/** Whether an account has the role admin. */
export async function hasAdmin(db: Tx): Promise<boolean> {
  // The constant lets PostgreSQL use the partial index of operators.
  const admins = await db.$queryRaw<unknown[]>`SELECT FROM "Account" WHERE "role" = 'admin' LIMIT 1`;
  return admins.length > 0;
}

/** Checks a link without using it. @throws AppError invalid_or_expired_token */
export async function requireFirstOperatorLink({ db, now }: Pick<Deps, "db" | "now">, token: string): Promise<void> {
  const link = await db.firstOperatorLink.findUnique({ where: { tokenHash: hashEmailedToken(token) } });
  if (!link || link.expiresAt <= now() || (await hasAdmin(db))) throw new AppError("invalid_or_expired_token");
}

/**
 * Uses a link, and with it all others, in the transaction that makes the admin. Of two people who use links at the same
 * time, the second waits for the locks of the first one's rows, and then finds none.
 * @throws AppError invalid_or_expired_token
 */
export async function consumeFirstOperatorLink(tx: Tx, at: Date, token: string): Promise<void> {
  const links = await tx.$queryRaw<{ tokenHash: string; expiresAt: Date }[]>`
    DELETE FROM "FirstOperatorLink" WHERE "tokenHash" IN (
      SELECT "tokenHash" FROM "FirstOperatorLink" ORDER BY "tokenHash" FOR UPDATE)
    RETURNING "tokenHash", "expiresAt"`;
  const link = links.find(({ tokenHash }) => tokenHash === hashEmailedToken(token));
  if (!link || link.expiresAt <= at || (await hasAdmin(tx))) throw new AppError("invalid_or_expired_token");
}
