import { unlinkIdentity } from "@/lib/accounts/identities";
import { IdentityParams } from "@/lib/accounts/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http/route-response";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/identities/[identityId]", {
  DELETE: endpoint({
    summary: "Unlink a sign-in provider from the caller's account",
    auth: "account",
    params: IdentityParams,
    errors: ["not_found", "last_sign_in_method", "reauthentication_required"],
    responses: { 204: null },
    handle: async ({ ctx, principal, caller, params }) => {
      await unlinkIdentity(ctx, principal, { ...params, proof: {} }, caller);
      return new RouteResponse(204, null);
    },
  }),
});
