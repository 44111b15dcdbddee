import { z } from "zod";
import { renamePasskey } from "@/lib/accounts/passkeys/passkeys";
import { RenamePasskey } from "@/lib/auth/passkeys/schema";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/passkey/rename", {
  summary: "Rename a passkey",
  page: "/account/passkeys/rename",
  session: true,
  body: RenamePasskey.extend({ id: z.uuid() }),
  keptFields: ["id", "name"],
  handle: async ({ ctx, body, principal }) => {
    await renamePasskey(ctx.db, principal.account.id, body.id, body.name);
    return { to: "/account?done=passkey_renamed" };
  },
});
