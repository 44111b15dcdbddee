import { z } from "zod";
import { MailedToken } from "@/lib/accounts/schema";
import { confirmAddress } from "@/lib/auth/next-auth/from-pages";
import { defineForm } from "@/lib/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/verify", {
  summary: "Confirm an e-mail address",
  page: "/verify",
  fields: z.object({ token: MailedToken }),
  places: { invalid_or_expired_token: { words: "This link is no longer valid. Sign in to get a new one" } },
  handle: async ({ ctx, fields, headers, caller }) => {
    const { cookies } = await confirmAddress(ctx, fields.token, { headers, caller });
    return { to: "/account?done=email_verified", cookies };
  },
});
