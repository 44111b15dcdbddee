import type { Caller } from "../audit/caller";
import type { Operator } from "../audit/operator-events";
import type { KeyPrincipal } from "../auth/api-keys/authenticate-key";
import type { Principal } from "../auth/authenticate";

/** Who owns what a caller creates. Nobody else may change it. */
export function ownerOf(principal: Principal | KeyPrincipal): string {
  return "key" in principal ? `key:${principal.key.id}` : `account:${principal.account.id}`;
}

/** The operator who sends a request: the account of the session, or the API key. */
export function operatorOf(principal: Principal | KeyPrincipal, source: Caller): Operator {
  if ("key" in principal) return { actor: `key:${principal.key.id}`, accountId: null, source };
  return { actor: "account", accountId: principal.account.id, source };
}
