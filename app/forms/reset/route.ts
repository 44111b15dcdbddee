import { confirmReset } from "@/lib/accounts/reset";
import { ConfirmReset, MailedToken } from "@/lib/accounts/schema";
import { setDeviceCookie } from "@/lib/auth/limits/recognized-clients";
import { defineForm } from "@/lib/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/reset", {
  summary: "Choose a new password",
  page: "/reset",
  fields: ConfirmReset.extend({ token: MailedToken }),
  places: { invalid_or_expired_token: { words: "This link is no longer valid. Ask for a new one" } },
  handle: async ({ ctx, fields, caller }) => {
    await confirmReset(ctx, fields, caller);
    return { to: "/sign-in?done=password_reset", cookies: [setDeviceCookie(ctx, caller.deviceId)] };
  },
});
