import { confirmTotp } from "@/lib/auth/second-factor/enroll-totp";
import { ConfirmTotp, TotpConfirmed } from "@/lib/auth/second-factor/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/factors/totp/confirm", {
  POST: endpoint({
    summary: "Confirm an authenticator app by its first code",
    auth: "account",
    body: ConfirmTotp,
    errors: ["invalid_code", "enrollment_expired", "factor_exists"],
    responses: { 200: TotpConfirmed },
    handle: ({ ctx, principal, body, caller }) => confirmTotp(ctx, principal, body, caller),
  }),
});
