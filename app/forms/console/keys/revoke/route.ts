import { z } from "zod";
import { revokeKey } from "@/lib/auth/api-keys/keys";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/keys/revoke", {
  summary: "Revoke an API key",
  page: "/console/settings/keys",
  body: z.object({ id: z.uuid() }),
  handle: async ({ ctx, body }, operator) => {
    await revokeKey(ctx, operator, body.id);
    return { done: "key_revoked" };
  },
});
