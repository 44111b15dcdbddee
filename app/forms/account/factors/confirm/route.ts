import { confirmTotp } from "@/lib/auth/second-factor/change-factors";
import { ConfirmTotp } from "@/lib/auth/second-factor/schema";
import { defineForm } from "@/lib/platform/http/pages/form";
import { setShownCodesCookie } from "@/lib/platform/http/pages/recovery-codes-cookie";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/factors/confirm", {
  summary: "Confirm an authenticator app by its first code",
  page: ({ id = "" }) => `/account/factors/totp?${new URLSearchParams({ id })}`,
  session: true,
  body: ConfirmTotp,
  errorPlacement: {
    invalid_code: { field: "code", message: "That code is not current. Turn on automatic date and time." },
    enrollment_expired: { message: "This QR code has expired. Start again" },
  },
  handle: async ({ ctx, body, principal, caller }) => {
    const { recoveryCodes } = await confirmTotp(ctx, principal, body, caller);
    const cookie = await setShownCodesCookie(ctx, principal.account.id, recoveryCodes);
    return { to: "/account/factors/recovery-codes", cookies: [cookie] };
  },
});
