import type { Context } from "../context";
import { requireOwnOriginForCookie } from "../platform/http/browser/origin";
import { clientIp, clientNetwork } from "../platform/http/client-ip";
import type { AccessRule, AnyPrincipal } from "../principal";
import { isForOperators, requireAccess, requireScope } from "./access";
import { hasKeyInUrl, revokeKeyInUrl } from "./api-keys/leaked-keys";
import { authenticate, authenticateOperator } from "./authenticate";
import { requireStepUp } from "./step-up";

/** What the pipeline of lib/platform/http asks of this room. */
export const authentication: Context["authentication"] = {
  authenticate: authenticateRequest,
  requireStepUp: (ctx, principal, caller) => requireStepUp(ctx, principal, {}, caller),
  hasKeyInUrl,
  revokeKeyInUrl,
};

/**
 * Authenticates a request, and checks what its endpoint requires: the origin of a request by cookie, the account's role,
 * the session's level and age, or the API key's scope. Only endpoints for operators look at API keys, and let in the
 * operator of this machine, who may do everything.
 * @throws AppError unauthenticated, origin_not_allowed, forbidden, reauthentication_required, rate_limited
 */
async function authenticateRequest(
  ctx: Context,
  { method, headers, socketIp, operator, hasSideEffect }: Parameters<Context["authentication"]["authenticate"]>[1],
  rule: AccessRule,
): Promise<AnyPrincipal> {
  const hops = ctx.config.TRUSTED_PROXY_HOPS;
  const sourceOf = () => ({
    ip: clientIp(headers, socketIp, hops),
    network: clientNetwork(headers, socketIp, hops),
    socketIp,
  });
  if (operator !== undefined && isForOperators(rule)) return { operator };
  const principal = isForOperators(rule)
    ? await authenticateOperator(ctx, headers, sourceOf)
    : await authenticate(ctx, headers);
  if ("operator" in principal) return principal;
  if ("key" in principal) {
    requireScope(principal, rule);
    return principal;
  }
  if (principal.session.via === "cookie") requireOwnOriginForCookie(method, hasSideEffect, headers, ctx.config);
  requireAccess(principal, rule, ctx.now());
  return principal;
}
