import { pushOperations } from "@/lib/admin/push/operations";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/push/pauses/[environment]", {
  DELETE: pushOperations.endPushPause,
});
