import { defineRoute } from "@/lib/platform/http/route";
import { keySetOperations } from "@/lib/platform/keys/signing-keys";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/.well-known/jwks.json", {
  GET: keySetOperations.getJsonWebKeySet,
});
