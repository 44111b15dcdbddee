import { z } from "zod";

/** What an API key may do. `RESOURCE:write` includes `RESOURCE:read`. */
export const Scope = z.enum([
  "accounts:read",
  "audit:read",
  "billing:read",
  "push:send",
  "releases:read",
  "releases:write",
]);
export type Scope = z.infer<typeof Scope>;

/** Whether a key's scopes include a scope. A later build may have stored scopes that this one does not know. */
export function includesScope(scopes: readonly string[], required: Scope): boolean {
  const [resource, verb] = required.split(":");
  return scopes.includes(required) || (verb === "read" && scopes.includes(`${resource}:write`));
}
