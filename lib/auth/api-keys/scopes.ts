import { z } from "zod";

/** What an API key may do. `RESOURCE:write` and `RESOURCE:send` include `RESOURCE:read`. */
export const Scope = z.enum([
  "accounts:read",
  "accounts:write",
  "audit:read",
  "billing:read",
  "billing:write",
  "mail:read",
  "mail:write",
  "push:read",
  "push:send",
  "releases:read",
  "releases:write",
  "webhooks:read",
  "webhooks:write",
]);
export type Scope = z.infer<typeof Scope>;

/** Whether a key's scopes include a scope. A later build may have stored scopes that this one does not know. */
export function hasScope(scopes: readonly string[], required: Scope): boolean {
  const [resource, verb] = required.split(":");
  const includesRead = scopes.includes(`${resource}:write`) || scopes.includes(`${resource}:send`);
  return scopes.includes(required) || (verb === "read" && includesRead);
}
