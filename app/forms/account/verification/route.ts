import { z } from "zod";
import { resendVerification } from "@/lib/accounts/email-verification/resend-verification";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/verification", {
  summary: "Send a verification email to the account's own email",
  page: "/account",
  session: true,
  body: z.object({}),
  handle: async ({ ctx, principal, caller }) => {
    await resendVerification(ctx, principal.account.email, caller);
    return { to: "/account?done=verification_sent" };
  },
});
