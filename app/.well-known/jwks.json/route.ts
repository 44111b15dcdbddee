import { defineRoute } from "@/lib/http/route";
import { keySetOperations } from "@/lib/keys/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/.well-known/jwks.json", {
  GET: keySetOperations.getJsonWebKeySet,
});
