import { resendVerification } from "@/lib/accounts/email-verification/resend-verification";
import { RequestReset, ResetAccepted } from "@/lib/accounts/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/verification/resend", {
  POST: endpoint({
    summary: "Send the verification email again",
    body: RequestReset,
    errors: ["rate_limited"],
    responses: { 202: ResetAccepted },
    handle: async ({ ctx, body, caller }) => {
      await resendVerification(ctx, body.email, caller);
      return { status: "accepted" };
    },
  }),
});
