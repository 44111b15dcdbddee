import { z } from "zod";
import { verifyOwnEmail } from "@/lib/accounts/email-verification/verify-own-email";
import { EmailedToken } from "@/lib/accounts/schema";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/verify", {
  summary: "Verify the email of the account that is signed in",
  page: "/verify",
  session: true,
  body: z.object({ token: EmailedToken }),
  errorPlacement: {
    invalid_or_expired_token: { message: "This link is no longer valid, or belongs to another account" },
  },
  handle: async ({ ctx, body, principal, caller }) => {
    await verifyOwnEmail(ctx, principal.account.id, body.token, caller);
    return { to: "/account?done=email_verified" };
  },
});
