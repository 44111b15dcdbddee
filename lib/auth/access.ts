import type { AccountRole } from "../db/generated/client";
import { AppError } from "../errors";
import type { Principal } from "./authenticate";
import { type Aal, isFresh } from "./sessions/authentication";

/** What a route requires of its caller, beyond a session. */
export type AccessRule = {
  /** The account's role, at least: support may do what a user may, and an admin everything. */
  role?: AccountRole;
  /** The session's assurance level, at least. */
  aal?: Aal;
  /** The most seconds since the session's user was authenticated. */
  freshSeconds?: number;
};

const RANKS: Record<AccountRole, number> = { user: 0, support: 1, admin: 2 };

/**
 * Checks what a route requires of its caller. The role comes first: whoever lacks it is not asked for a password.
 * @throws AppError insufficient_role, reauthentication_required
 */
export function requireAccess(
  { account, session }: Pick<Principal, "account" | "session">,
  { role = "user", aal = 1, freshSeconds = Number.POSITIVE_INFINITY }: AccessRule,
  now: Date,
): void {
  if (RANKS[account.role] < RANKS[role]) throw new AppError("insufficient_role");
  if (!isFresh(session, { aal, freshSeconds, now })) throw new AppError("reauthentication_required");
}
