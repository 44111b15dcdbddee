import { nextAuthOperations } from "@/lib/auth/next-auth/operations";
import { defineRoute } from "@/lib/platform/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/[...nextauth]", {
  GET: nextAuthOperations.readNextAuth,
  POST: nextAuthOperations.postNextAuth,
});
