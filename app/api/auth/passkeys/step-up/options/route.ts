import { createAccountOptions } from "@/lib/auth/passkeys/options";
import { PasskeyRequestOptions } from "@/lib/auth/passkeys/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/passkeys/step-up/options", {
  POST: endpoint({
    summary: "Start a step-up by a passkey",
    auth: "account",
    limit: "passkeyOptionsByAccount",
    errors: ["not_found"],
    responses: { 200: PasskeyRequestOptions },
    handle: ({ ctx, principal }) => createAccountOptions(ctx, "step-up", principal.account.id),
  }),
});
