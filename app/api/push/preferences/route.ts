import { defineRoute } from "@/lib/platform/http/route";
import { deviceOperations } from "@/lib/push/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/push/preferences", {
  GET: deviceOperations.showPushPreferences,
  PUT: deviceOperations.replacePushPreferences,
});
