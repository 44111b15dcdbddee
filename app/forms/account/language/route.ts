import { z } from "zod";
import { setLocale } from "@/lib/accounts/emails/locale";
import { defineForm } from "@/lib/platform/http/pages/form";
import { LOCALES } from "@/lib/platform/locale";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/language", {
  summary: "Set the language of emails",
  page: "/account",
  session: true,
  body: z.object({ locale: z.enum(LOCALES) }),
  handle: async ({ ctx, body, principal }) => {
    await setLocale(ctx, principal.account.id, body.locale);
    return { to: "/account?done=language_set" };
  },
});
