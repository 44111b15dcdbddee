import { emailedToken, findEmailedToken, hashEmailedToken } from "../../auth/emailed-token";
import type { Context } from "../../context";

type Deps = Pick<Context, "config" | "db" | "now">;

export const CONFIRM_TTL_HOURS = 24;
export const UNDO_TTL_DAYS = 7;

/** The hashes of a new change's tokens. */
export function changeTokenHashes(config: Context["config"], id: string) {
  return {
    confirmTokenHash: hashEmailedToken(emailedToken(config, "email-change", id)),
    undoTokenHash: hashEmailedToken(emailedToken(config, "email-change-undo", id)),
  };
}

/** The token of the link that confirms a change; null if it would no longer work. */
export async function findConfirmToken({ config, db, now }: Deps, id: string): Promise<string | null> {
  const where = { id, confirmedAt: null, confirmExpiresAt: { gt: now() } };
  const change = await db.emailChange.findUnique({ where });
  if (!change) return null;
  const isStored = (token: string) => hashEmailedToken(token) === change.confirmTokenHash;
  return findEmailedToken(config, "email-change", id, isStored);
}

/** The new email of the newest change that an old email's owner can undo, and the token of the link; null if there is none. */
export async function findUndo({ config, db, now }: Deps, oldEmail: string) {
  const change = await db.emailChange.findFirst({
    where: { oldEmail, undoTokenHash: { not: null }, expiresAt: { gt: now() } },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
  });
  if (!change) return null;
  const isStored = (token: string) => hashEmailedToken(token) === change.undoTokenHash;
  const token = findEmailedToken(config, "email-change-undo", change.id, isStored);
  return token === null ? null : { newEmail: change.newEmail, token };
}
