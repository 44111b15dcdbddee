import { ConfirmAddress } from "@/lib/accounts/schema";
import { confirmAddress } from "@/lib/auth/next-auth/from-pages";
import { defineForm } from "@/lib/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/verify", {
  summary: "Confirm an e-mail address",
  page: "/verify",
  fields: ConfirmAddress,
  places: {
    invalid_or_expired_token: { words: "This link is no longer valid. Sign in to get a new one" },
    invalid_credentials: { field: "password", words: "The address was not registered with this password" },
  },
  handle: async ({ ctx, fields, headers, caller }) => {
    const { cookies } = await confirmAddress(ctx, fields, { headers, caller });
    return { to: "/account?done=email_verified", cookies };
  },
});
