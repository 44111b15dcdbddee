import { createHash, createHmac } from "node:crypto";
import type { Context, Tx } from "../context";

type Config = Pick<Context["config"], "secrets">;
type Purpose = "email-verification" | "password-reset" | "invitation" | "not-me" | "email-change" | "email-change-undo";

/**
 * The token of an emailed link, derived from a random id by the first secret. Only the id and a hash of the token are
 * stored; the service derives the token again when it sends the email.
 */
export function emailedToken({ secrets }: Config, purpose: Purpose, id: string): string {
  return derive(secrets[0], purpose, id);
}

/** The token of an id whose hash is stored, after a rotation too; null if its secret is no longer in the ring. */
export function findEmailedToken(
  { secrets }: Config,
  purpose: Purpose,
  id: string,
  isStored: (token: string) => boolean,
): string | null {
  return secrets.map((secret) => derive(secret, purpose, id)).find(isStored) ?? null;
}

/** The stored hash of a token. A plain SHA-256 is enough for a token of 256 bits. */
export function hashEmailedToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** Revokes the emailed links that set a password: of a reset and of an invitation. */
export async function revokePasswordLinks(tx: Tx, accountId: string): Promise<void> {
  await tx.passwordResetToken.deleteMany({ where: { accountId } });
  await tx.invitation.deleteMany({ where: { accountId } });
}

function derive(secret: string, purpose: Purpose, id: string): string {
  return createHmac("sha256", secret).update(`${purpose}:${id}`).digest("base64url");
}
