import type { Context } from "../context";
import { AppError } from "../errors";
import type { AccountRole } from "../platform/db/generated/client";
import { clientIp, clientNetwork } from "../platform/http/client-ip";
import { sessionCookie } from "../platform/http/cookies";
import { requireOwnOriginForCookie } from "../platform/http/origin";
import type { ReadableHeaders } from "../platform/http-message";
import type { AccessRule, AnyPrincipal, KeyPrincipal, Principal, Scope } from "../principal";
import { hasKeyPrefix } from "./api-keys/key-text";
import { authenticateKey } from "./api-keys/keys";
import { hasKeyInUrl, revokeKeyInUrl } from "./api-keys/leaked-keys";
import { authenticateLocalOperator } from "./local-operator";
import { authenticateJob, isJobAccessToken } from "./publishers/exchange-job-token";
import { isFresh, seenFrom } from "./sessions/authentication";
import { findSession } from "./sessions/sessions";
import { requireStepUp } from "./step-up";

type Deps = Pick<Context, "config" | "db" | "now">;
type Request = Parameters<Context["authentication"]["authenticate"]>[1];

/** A session token, and how the request carried it. */
export type Credentials = { token: string; via: "bearer" | "cookie" };

/** Authenticates a request by its session token. @throws AppError unauthenticated */
export async function authenticate(deps: Deps, headers: ReadableHeaders): Promise<Principal> {
  const credentials = readCredentials(headers, deps.config);
  const found = credentials && (await findSession(deps, credentials.token));
  if (!found) throw new AppError("unauthenticated");
  return { account: found.account, session: { ...found.session, via: credentials.via } };
}

/** Reads the bearer token (RFC 6750) or the session cookie. An Authorization header takes precedence over the cookie. */
export function readCredentials(headers: ReadableHeaders, config: Context["config"]): Credentials | null {
  const authorization = headers.get("authorization");
  if (authorization !== null) {
    const token = /^bearer +([^\s]+) *$/i.exec(authorization)?.[1];
    return token ? { token, via: "bearer" } : null;
  }
  const token = sessionCookie(headers.get("cookie"), config);
  return token ? { token, via: "cookie" } : null;
}

const RANKS: Record<AccountRole, number> = { user: 0, support: 1, admin: 2 };

/**
 * Checks what a route requires of a session: the role first, so that nobody is asked for a password in vain.
 * @throws AppError forbidden, reauthentication_required
 */
function requireAccess(
  { account, session }: Pick<Principal, "account" | "session">,
  { role = "user", aal = 1, maxAgeSeconds = Number.POSITIVE_INFINITY }: AccessRule,
  now: Date,
): void {
  if (RANKS[account.role] < RANKS[role]) throw new AppError("forbidden", { detail: "Your role does not allow this." });
  if (!isFresh(session, { aal, maxAgeSeconds, now })) throw new AppError("reauthentication_required");
}

/** Checks that a route accepts an API key. @throws AppError forbidden */
function requireScope({ key }: KeyPrincipal, { scope }: AccessRule): void {
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
function requireReleaseScope({ scope }: AccessRule): void {
  if (scope === "releases:read" || scope === "releases:write") return;
  throw new AppError("forbidden", { detail: "A publisher may only read and publish releases." });
}

/** What the pipeline of lib/platform/http asks of this room. */
export const authentication: Context["authentication"] = {
  authenticate: authenticateRequest,
  requireStepUp: (ctx, principal, caller) => requireStepUp(ctx, principal, {}, caller),
  hasKeyInUrl,
  revokeKeyInUrl,
};

/**
 * Authenticates a request, and checks what its endpoint requires: the origin of a request by cookie, the account's
 * role, the session's level and age, or the API key's scope. Only endpoints for operators look at API keys and CI jobs, and let in
 * the operator of this machine, who may do everything.
 * @throws AppError unauthenticated, origin_not_allowed, forbidden, reauthentication_required, rate_limited
 */
async function authenticateRequest(
  ctx: Context,
  { method, headers, socketIp, operator, hasSideEffect }: Request,
  rule: AccessRule,
): Promise<AnyPrincipal> {
  const isForOperators = rule.role !== undefined || rule.scope !== undefined;
  if (operator !== undefined && isForOperators) return { operator };
  const credentials = readCredentials(headers, ctx.config);
  if (isForOperators && credentials?.via === "bearer" && hasKeyPrefix(credentials.token)) {
    const local = authenticateLocalOperator(ctx, credentials.token, headers, socketIp);
    if (local) return local;
    const hops = ctx.config.TRUSTED_PROXY_HOPS;
    const source = { ip: clientIp(headers, socketIp, hops), network: clientNetwork(headers, socketIp, hops) };
    const principal = await authenticateKey(ctx, credentials.token, source);
    requireScope(principal, rule);
    return principal;
  }
  if (isForOperators && credentials?.via === "bearer" && isJobAccessToken(credentials.token)) {
    const network = clientNetwork(headers, socketIp, ctx.config.TRUSTED_PROXY_HOPS);
    const principal = await authenticateJob(ctx, credentials.token, network);
    requireReleaseScope(rule);
    return principal;
  }
  const { account, session: stored } = await authenticate(ctx, headers);
  const caller = () => ({
    ip: clientNetwork(headers, socketIp, ctx.config.TRUSTED_PROXY_HOPS),
    userAgent: headers.get("user-agent"),
  });
  const session = seenFrom(stored, caller, ctx.config);
  const principal = { account, session };
  if (session.via === "cookie") requireOwnOriginForCookie(method, hasSideEffect, headers, ctx.config);
  requireAccess(principal, rule, ctx.now());
  return principal;
}
