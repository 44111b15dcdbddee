import type { Scope } from "../../principal";

/** Whether a key's scopes include a scope. A later build may have stored scopes that this one does not know. */
export function hasScope(scopes: readonly string[], required: Scope): boolean {
  const [resource, verb] = required.split(":");
  const includesRead = scopes.includes(`${resource}:write`) || scopes.includes(`${resource}:send`);
  return scopes.includes(required) || (verb === "read" && includesRead);
}
