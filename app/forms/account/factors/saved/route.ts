import { z } from "zod";
import { defineForm } from "@/lib/platform/http/pages/form";
import { clearShownCodesCookie } from "@/lib/platform/http/pages/recovery-codes-cookie";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/factors/saved", {
  summary: "Stop showing the new recovery codes",
  page: "/account",
  session: true,
  body: z.object({}),
  handle: async ({ ctx }) => ({ to: "/account", cookies: [clearShownCodesCookie(ctx)] }),
});
