import { AppError } from "../errors";
import type { AccountRole } from "../platform/db/generated/client";
import type { AccessRule, KeyPrincipal, Principal, Scope } from "../principal";
import { isFresh } from "./sessions/authentication";

const RANKS: Record<AccountRole, number> = { user: 0, support: 1, admin: 2 };

/**
 * Checks what a route requires of a session: the role first, so that nobody is asked for a password in vain.
 * @throws AppError forbidden, reauthentication_required
 */
export function requireAccess(
  { account, session }: Pick<Principal, "account" | "session">,
  { role = "user", aal = 1, maxAgeSeconds = Number.POSITIVE_INFINITY }: AccessRule,
  now: Date,
): void {
  if (RANKS[account.role] < RANKS[role]) throw new AppError("forbidden", { detail: "Your role does not allow this." });
  if (!isFresh(session, { aal, maxAgeSeconds, now })) throw new AppError("reauthentication_required");
}

/** Checks that a route accepts an API key. @throws AppError forbidden */
export function requireScope({ key }: KeyPrincipal, { scope }: AccessRule): void {
  if (scope === undefined) throw new AppError("forbidden", { detail: "API keys may not do this." });
  if (hasScope(key.scopes, scope)) return;
  throw new AppError("forbidden", {
    detail: `The API key lacks the scope ${scope}.`,
    // RFC 6750, section 3.1.
    headers: { "WWW-Authenticate": `Bearer realm="homeport", error="insufficient_scope", scope="${scope}"` },
  });
}

/** Whether a key's scopes include a scope. A later build may have stored scopes that this one does not know. */
function hasScope(scopes: readonly string[], required: Scope): boolean {
  const [resource, verb] = required.split(":");
  const includesRead = scopes.includes(`${resource}:write`) || scopes.includes(`${resource}:send`);
  return scopes.includes(required) || (verb === "read" && includesRead);
}

/** Checks that a route is one of those for releases. @throws AppError forbidden */
export function requireReleaseScope({ scope }: AccessRule): void {
  if (scope === "releases:read" || scope === "releases:write") return;
  throw new AppError("forbidden", { detail: "A publisher may only read and publish releases." });
}
