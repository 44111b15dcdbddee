import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http/route-response";
import { removeDevice } from "@/lib/push/devices";
import { DeviceParams } from "@/lib/push/schema";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/push/devices/[deviceId]", {
  DELETE: endpoint({
    summary: "Remove a device",
    auth: "account",
    params: DeviceParams,
    errors: ["device_not_found"],
    responses: { 204: null },
    handle: async ({ ctx, principal, params }) => {
      await removeDevice(ctx, principal.account.id, params.deviceId);
      return new RouteResponse(204, null);
    },
  }),
});
