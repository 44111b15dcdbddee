import { z } from "zod";
import { removePasskey } from "@/lib/accounts/passkeys/passkeys";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/passkey/remove", {
  summary: "Remove a passkey",
  page: ({ id = "" }) => `/account/passkeys/remove?${new URLSearchParams({ id })}`,
  session: true,
  body: z.object({ id: z.uuid() }),
  errorPlacement: {
    reauthentication_required: { message: "Reload this page to confirm that it’s you" },
    last_sign_in_method: { message: "This is your only way to sign in. Set a password or add another passkey first" },
  },
  handle: async ({ ctx, body, principal, caller }) => {
    await removePasskey(ctx, principal, { passkeyId: body.id, proof: {} }, caller);
    return { to: "/account?done=passkey_removed" };
  },
});
