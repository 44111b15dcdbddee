import { setName } from "@/lib/accounts/profile";
import { SetName } from "@/lib/accounts/schema";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/name", {
  summary: "Set or remove the account's name",
  page: "/account/name",
  session: true,
  body: SetName,
  keptFields: ["name"],
  handle: async ({ ctx, body, principal }) => {
    await setName(ctx, principal.account.id, body.name ?? null);
    return { to: "/account?done=name_set" };
  },
});
