import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { LiveActivities } from "@/lib/push/live-activities/schema";
import { listLiveActivities } from "@/lib/push/live-activities/tokens";
import { DeviceParams } from "@/lib/push/schema";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/push/devices/[deviceId]/live-activities",
  {
    GET: endpoint({
      summary: "List the Live Activities of a device",
      auth: "account",
      params: DeviceParams,
      errors: ["device_not_found"],
      responses: { 200: LiveActivities },
      handle: ({ ctx, principal, params }) => listLiveActivities(ctx, principal.account.id, params.deviceId),
    }),
  },
);
