import { z } from "zod";
import { clearShownSecretCookie } from "@/lib/platform/http/pages/shown-secret-cookie";
import { defineConsoleForm } from "../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/secret-saved", {
  summary: "Stop showing a new secret",
  page: "/console/settings/keys",
  role: "support",
  body: z.object({}),
  handle: async ({ ctx }) => ({ cookies: [clearShownSecretCookie(ctx)] }),
});
