import { z } from "zod";
import { startTotp } from "@/lib/auth/second-factor/change-factors";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/factors/totp", {
  summary: "Start to add an authenticator app",
  page: "/account/factors/totp",
  session: true,
  body: z.object({}),
  handle: async ({ ctx, principal, caller }) => {
    const { id } = await startTotp(ctx, principal, {}, caller);
    return { to: `/account/factors/totp?id=${id}` };
  },
});
