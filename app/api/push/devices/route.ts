import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { listDevices } from "@/lib/push/devices";
import { Devices } from "@/lib/push/schema";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/push/devices", {
  GET: endpoint({
    summary: "List the caller's devices",
    auth: "account",
    responses: { 200: Devices },
    handle: async ({ ctx, principal }) => ({ devices: await listDevices(ctx, principal) }),
  }),
});
