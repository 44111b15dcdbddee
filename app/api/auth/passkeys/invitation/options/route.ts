import { passkeyOperations } from "@/lib/accounts/sign-in-methods/operations";
import { defineRoute } from "@/lib/platform/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/passkeys/invitation/options", {
  POST: passkeyOperations.createPasskeyInvitationOptions,
});
