import { endpoint } from "@/lib/http/endpoint";
import { RouteResponse } from "@/lib/http/route-response";
import { LiveActivity, LiveActivityParams, RegisterLiveActivity } from "@/lib/push/live-activities/schema";
import { registerLiveActivity, removeLiveActivity } from "@/lib/push/live-activities/tokens";

export const registerOne = endpoint({
  summary: "Register the token that updates a Live Activity",
  auth: "account",
  params: LiveActivityParams,
  body: RegisterLiveActivity,
  errors: ["not_found", "device_not_found", "device_not_active"],
  responses: { 200: LiveActivity },
  handle: ({ ctx, principal, params, body }) => registerLiveActivity(ctx, principal.account.id, params, body),
});

export const deleteOne = endpoint({
  summary: "Remove a Live Activity that has ended",
  auth: "account",
  params: LiveActivityParams,
  errors: ["not_found", "device_not_found"],
  responses: { 204: null },
  handle: async ({ ctx, principal, params }) => {
    await removeLiveActivity(ctx, principal.account.id, params);
    return new RouteResponse(204, null);
  },
});
