import { passkeyDomainOperations } from "@/lib/auth/passkeys/operations";
import { defineRoute } from "@/lib/platform/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/.well-known/passkey-endpoints", {
  GET: passkeyDomainOperations.getPasskeyEndpoints,
});
