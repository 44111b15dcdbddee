import { requestReset } from "@/lib/accounts/password-reset";
import { RequestReset, ResetAccepted } from "@/lib/accounts/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/reset/request", {
  POST: endpoint({
    summary: "Request a password reset",
    body: RequestReset,
    errors: ["rate_limited"],
    responses: { 202: ResetAccepted },
    handle: async ({ ctx, body, caller }) => {
      await requestReset(ctx, body.email, caller);
      return { status: "accepted" };
    },
  }),
});
