import { removePasskey, renamePasskey } from "@/lib/accounts/passkeys/passkeys";
import { Passkey, PasskeyParams, RenamePasskey } from "@/lib/auth/passkeys/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/passkeys/[passkeyId]", {
  PATCH: endpoint({
    summary: "Rename a passkey",
    auth: "account",
    params: PasskeyParams,
    body: RenamePasskey,
    errors: ["not_found"],
    responses: { 200: Passkey },
    handle: ({ ctx, principal, params, body }) =>
      renamePasskey(ctx.db, principal.account.id, params.passkeyId, body.name),
  }),
  DELETE: endpoint({
    summary: "Remove a passkey",
    auth: "account",
    params: PasskeyParams,
    errors: ["not_found", "last_sign_in_method", "reauthentication_required"],
    responses: { 204: null },
    handle: ({ ctx, principal, params, caller }) => removePasskey(ctx, principal, { ...params, proof: {} }, caller),
  }),
});
