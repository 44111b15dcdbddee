import { defineRoute } from "@/lib/platform/http/route";
import { mirrorOperations } from "@/lib/releases/mirror/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/releases/mirror", {
  GET: mirrorOperations.getReleaseMirror,
});
