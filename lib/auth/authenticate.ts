import type { Context } from "../context";
import { AppError } from "../errors";
import { clientIp, clientNetwork } from "../platform/http/client-ip";
import { sessionCookie } from "../platform/http/cookies";
import { requireOwnOriginForCookie } from "../platform/http/origin";
import type { ReadableHeaders } from "../platform/http-message";
import type { AccessRule, AnyPrincipal, Principal } from "../principal";
import { requireAccess, requireReleaseScope, requireScope } from "./access-rules";
import { hasKeyPrefix } from "./api-keys/key-text";
import { authenticateKey } from "./api-keys/keys";
import { hasKeyInUrl, revokeKeyInUrl } from "./api-keys/leaked-keys";
import { authenticateLocalOperator } from "./local-operator";
import { authenticateJob, isJobAccessToken } from "./publishers/exchange-job-token";
import { seenFrom } from "./sessions/authentication";
import { findSession } from "./sessions/sessions";
import { requireStepUp } from "./step-up";

type Deps = Pick<Context, "config" | "db" | "now">;
type Request = Parameters<Context["authentication"]["authenticate"]>[1];

/** A session token, and how the request carried it. */
export type Credentials = { token: string; via: "bearer" | "cookie" };

/** Authenticates a request by its session token, with the session as it counts for the caller. @throws AppError unauthenticated */
export async function authenticate(deps: Deps, headers: ReadableHeaders, socketIp?: string): Promise<Principal> {
  const credentials = readCredentials(headers, deps.config);
  const found = credentials && (await findSession(deps, credentials.token));
  if (!found) throw new AppError("unauthenticated");
  const caller = () => ({
    ip: clientNetwork(headers, socketIp, deps.config.TRUSTED_PROXY_HOPS),
    userAgent: headers.get("user-agent"),
  });
  return { account: found.account, session: { ...seenFrom(found.session, caller, deps.config), via: credentials.via } };
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
  const principal = await authenticate(ctx, headers, socketIp);
  if (principal.session.via === "cookie") requireOwnOriginForCookie(method, hasSideEffect, headers, ctx.config);
  requireAccess(principal, rule, ctx.now());
  return principal;
}
