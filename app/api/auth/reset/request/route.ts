import { requestReset } from "@/lib/accounts/password-reset";
import { RequestReset, ResetAccepted } from "@/lib/accounts/schema";
import { callerOf } from "@/lib/auth/caller";
import { defineRoute, endpoint } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/reset/request", {
  POST: endpoint({
    summary: "Request a password reset",
    body: RequestReset,
    errors: ["rate_limited"],
    responses: { 202: ResetAccepted },
    handle: async ({ ctx, request, body, address }) => {
      await requestReset(ctx, body.email, callerOf(ctx, request, address));
      return { status: "accepted" };
    },
  }),
});
