import { registerPasskey } from "@/lib/auth/passkeys/register-passkey";
import { Passkey, Passkeys, RegisterPasskey } from "@/lib/auth/passkeys/schema";
import { listPasskeys } from "@/lib/auth/passkeys/stored-passkeys";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/passkeys", {
  GET: endpoint({
    summary: "List the account's passkeys",
    auth: "account",
    responses: { 200: Passkeys },
    handle: async ({ ctx, principal }) => ({ passkeys: await listPasskeys(ctx.db, principal.account.id) }),
  }),
  POST: endpoint({
    summary: "Add a passkey",
    auth: "account",
    body: RegisterPasskey,
    errors: ["passkey_invalid", "passkey_registered", "passkey_limit_reached"],
    responses: { 201: Passkey },
    handle: ({ ctx, principal, body, caller }) => registerPasskey(ctx, principal, body, caller),
  }),
});
