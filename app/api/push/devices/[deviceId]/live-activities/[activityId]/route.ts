import { defineRoute } from "@/lib/platform/http/route";
import { liveActivityOperations } from "@/lib/push/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/push/devices/[deviceId]/live-activities/[activityId]",
  { PUT: liveActivityOperations.registerLiveActivity, DELETE: liveActivityOperations.removeLiveActivity },
);
