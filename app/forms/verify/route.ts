import { ConfirmEmail } from "@/lib/accounts/schema";
import { confirmEmail } from "@/lib/auth/next-auth/call-from-forms";
import { cookiesOf, isSignedIn } from "@/lib/auth/next-auth/run";
import { defineForm } from "@/lib/platform/http/pages/form";
import { continuingTo, ownPath } from "@/lib/platform/http/pages/redirect-paths";
import { readReturnCookie, setReturnCookie } from "@/lib/platform/http/pages/return-cookie";

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
    const next = readReturnCookie(ctx.config, request.headers.get("cookie"));
    const cookies = cookiesOf(response);
    if (next !== undefined) cookies.push(setReturnCookie(ctx.config, undefined));
    if (!isSignedIn(ctx, response)) return { to: continuingTo(next, factorPage), cookies };
    return { to: next ?? "/account?done=email_verified", cookies };
  },
});
