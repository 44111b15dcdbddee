import { ConfirmEmail } from "@/lib/accounts/schema";
import { confirmEmail } from "@/lib/http/next-auth/call-from-forms";
import { cookiesOf, isSignedIn } from "@/lib/http/next-auth/run";
import { defineForm } from "@/lib/http/pages/form";
import { ownPath } from "@/lib/http/pages/redirect-paths";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/verify", {
  summary: "Verify an email",
  page: "/verify",
  body: ConfirmEmail,
  errorPlacement: {
    invalid_or_expired_token: { message: "This link is no longer valid. Sign in to get a new one" },
    invalid_credentials: { field: "password", message: "This is not the password you registered with" },
  },
  handle: async ({ ctx, body, request, caller }) => {
    const response = await confirmEmail(ctx, body, { headers: request.headers, caller });
    const factorPage = ownPath(String(response.headers.Location), ctx.config.baseUrl, "/sign-in");
    const to = isSignedIn(ctx, response) ? "/account?done=email_verified" : factorPage;
    return { to, cookies: cookiesOf(response) };
  },
});
