import { resendVerification } from "@/lib/accounts/email-verification/resend-verification";
import { RequestReset } from "@/lib/accounts/schema";
import { redirectWithEmail } from "@/lib/platform/http/pages/flash";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/verification", {
  summary: "Send the verification email again",
  page: "/verify",
  body: RequestReset,
  keptFields: ["email"],
  handle: async ({ ctx, body, caller }) => {
    await resendVerification(ctx, body.email, caller);
    return redirectWithEmail(ctx.config, "/verify?sent=", body.email);
  },
});
