import { AppError } from "../../errors";
import type { AnyPrincipal, Caller, Operator } from "../../principal";
import { COMMAND_LINE } from "./operator-events";

/** Who owns what a caller creates. Nobody else may change it. */
export function ownerOf(principal: AnyPrincipal): string {
  if ("operator" in principal) return principal.operator;
  return "key" in principal ? `key:${principal.key.id}` : `account:${principal.account.id}`;
}

/**
 * The operator who sends a request: the account of the session, the API key, or who runs a command on this machine.
 * @throws Error without a principal
 */
export function operatorOf(principal: AnyPrincipal | null, source: Caller): Operator {
  if (principal === null) throw new Error("Anybody is admitted, so nobody acts as an operator");
  if ("operator" in principal) return commandLineOf(principal);
  if ("key" in principal) return { actor: `key:${principal.key.id}`, accountId: null, source };
  return { actor: "account", accountId: principal.account.id, source };
}

/** The person at the service's machine who runs a command. @throws AppError forbidden for anybody else */
export function commandLineOf(principal: AnyPrincipal): Operator {
  if ("operator" in principal) return { actor: principal.operator, accountId: null, source: COMMAND_LINE };
  throw new AppError("forbidden", { detail: "This is for commands on the service's own machine." });
}
