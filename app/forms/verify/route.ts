import { ConfirmEmail } from "@/lib/accounts/schema";
import { confirmEmail } from "@/lib/http/next-auth/from-forms";
import { cookiesOf } from "@/lib/http/next-auth/run";
import { defineForm } from "@/lib/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/verify", {
  summary: "Verify an email",
  page: "/verify",
  body: ConfirmEmail,
  errorPlacement: {
    invalid_or_expired_token: { message: "This link is no longer valid. Sign in to get a new one" },
    invalid_credentials: { field: "password", message: "This is not the password you registered with" },
  },
  handle: async ({ ctx, body, request, caller }) => {
    const cookies = cookiesOf(await confirmEmail(ctx, body, { headers: request.headers, caller }));
    return { to: "/account?done=email_verified", cookies };
  },
});
