import { z } from "zod";
import { renewRecoveryCodes } from "@/lib/auth/second-factor/change-factors";
import { defineForm } from "@/lib/platform/http/pages/form";
import { setShownCodesCookie } from "@/lib/platform/http/pages/recovery-codes-cookie";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/factors/recovery-codes", {
  summary: "Replace the recovery codes",
  page: "/account/factors/recovery-codes",
  session: true,
  body: z.object({}),
  handle: async ({ ctx, principal, caller }) => {
    const codes = await renewRecoveryCodes(ctx, principal, {}, caller);
    const cookie = await setShownCodesCookie(ctx, principal.account.id, codes);
    return { to: "/account/factors/recovery-codes", cookies: [cookie] };
  },
});
