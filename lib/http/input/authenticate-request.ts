import { isForOperators, requireAccess, requireScope } from "../../auth/access";
import { type AnyPrincipal, authenticate, authenticateOperator } from "../../auth/authenticate";
import { requireOwnOriginForCookie } from "../browser/origin";
import { clientIp, clientNetwork } from "../client-ip";
import type { AnyEndpoint, RequestScope } from "../endpoint";

/**
 * Authenticates a request, and checks what its endpoint requires: the origin of a request by cookie, the account's role,
 * the session's level and age, or the API key's scope. Only endpoints for operators look at API keys, and let in the
 * operator of this machine, who may do everything.
 * @throws AppError unauthenticated, origin_not_allowed, forbidden, reauthentication_required, rate_limited
 */
export async function authenticateRequest(
  { auth, hasSideEffect }: AnyEndpoint,
  method: string,
  { ctx, request, socketIp, operator }: RequestScope,
): Promise<AnyPrincipal> {
  const rule = typeof auth === "object" ? auth : {};
  const { headers } = request;
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
