import { defineForm } from "@/lib/platform/http/pages/form";
import { replacePreferences } from "@/lib/push/preferences/preferences";
import { PreferencesForm } from "@/lib/push/preferences/schema";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/notifications", {
  summary: "Choose what to be notified of",
  page: "/account",
  session: true,
  body: PreferencesForm,
  keptFields: ["startsAt", "endsAt"],
  handle: async ({ ctx, body, principal }) => {
    await replacePreferences(ctx, principal.account.id, body);
    return { to: "/account?done=notifications_set#notifications" };
  },
});
