import { revokeKey } from "@/lib/admin/keys/keys";
import { KeyParams } from "@/lib/admin/keys/schema";
import { operatorOf } from "@/lib/admin/operator";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/keys/[keyId]", {
  DELETE: endpoint({
    summary: "Revoke an API key",
    auth: { role: "admin", stepUp: true },
    idempotency: "replay",
    params: KeyParams,
    errors: ["not_found"],
    responses: { 204: null },
    handle: ({ ctx, principal, params, caller }) => revokeKey(ctx, operatorOf(principal, caller), params.keyId),
  }),
});
