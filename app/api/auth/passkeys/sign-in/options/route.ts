import { createSignInOptions } from "@/lib/auth/passkeys/options";
import { PasskeyRequestOptions } from "@/lib/auth/passkeys/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/passkeys/sign-in/options", {
  POST: endpoint({
    summary: "Start a sign-in with a passkey",
    limit: "passkeyOptionsByIp",
    responses: { 200: PasskeyRequestOptions },
    handle: ({ ctx }) => createSignInOptions(ctx),
  }),
});
