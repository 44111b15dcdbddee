import { operation } from "../../operation";
import { RouteResponse } from "../../platform/http-message";
import { LIVE_ACTIVITY, LIVE_ACTIVITY_TOKEN, START_TOKEN } from "../examples";
import { DeviceParams } from "../schema";
import {
  LiveActivities,
  LiveActivity,
  LiveActivityParams,
  RegisterLiveActivity,
  RegisterStartToken,
  StartToken,
  StartTokenParams,
} from "./schema";
import {
  listLiveActivities,
  registerLiveActivity,
  registerStartToken,
  removeLiveActivity,
  removeStartToken,
} from "./tokens";

export const liveActivityOperations = {
  listLiveActivities: operation({
    id: "listLiveActivities",
    summary: "List the Live Activities of a device",
    description:
      "Lists what the app has registered for a device of the caller, newest first. Tokens are not shown in full.",
    session: true,
    params: DeviceParams,
    errors: ["device_not_found"],
    response: {
      description: "The Live Activities, and the types that can be started.",
      schema: LiveActivities,
      examples: { "A delivery": { liveActivities: [LIVE_ACTIVITY], startTokens: [START_TOKEN] } },
    },
    run: ({ ctx, principal, params }) => listLiveActivities(ctx, principal.account.id, params.deviceId),
  }),

  registerLiveActivity: operation({
    id: "registerLiveActivity",
    summary: "Register the token that updates a Live Activity",
    description:
      "Call this operation for each token of ActivityKit's `pushTokenUpdates`: a token may change while the activity runs. The device has to be active. A device has the 20 that were registered last.",
    session: true,
    params: LiveActivityParams,
    body: RegisterLiveActivity,
    errors: ["not_found", "device_not_found", "device_not_active"],
    examples: { "A delivery": { attributesType: "DeliveryAttributes", token: LIVE_ACTIVITY_TOKEN } },
    response: { description: "The token is stored.", schema: LiveActivity, examples: { "A delivery": LIVE_ACTIVITY } },
    run: ({ ctx, principal, params, body }) => registerLiveActivity(ctx, principal.account.id, params, body),
  }),

  removeLiveActivity: operation({
    id: "removeLiveActivity",
    summary: "Remove a Live Activity that has ended",
    description:
      "Removes the token of an activity that has ended or was dismissed. The service removes it, too, once it has sent the end, or APNs has reported the token as invalid. Repeating the request changes nothing.",
    session: true,
    params: LiveActivityParams,
    errors: ["not_found", "device_not_found"],
    response: { description: "The activity gets no more notifications.", schema: null },
    run: async ({ ctx, principal, params }) => {
      await removeLiveActivity(ctx, principal.account.id, params);
      return new RouteResponse(204, null);
    },
  }),

  registerLiveActivityStartToken: operation({
    id: "registerLiveActivityStartToken",
    summary: "Register the token that starts Live Activities of a type",
    description:
      "Call this operation for each token of ActivityKit's `pushToStartTokenUpdates` (iOS 17.2), which has one for each type of attributes. The device has to be active. A device has the 20 that were registered last.",
    session: true,
    params: StartTokenParams,
    body: RegisterStartToken,
    errors: ["not_found", "device_not_found", "device_not_active"],
    examples: { "A type": { token: LIVE_ACTIVITY_TOKEN } },
    response: { description: "The token is stored.", schema: StartToken, examples: { "A type": START_TOKEN } },
    run: ({ ctx, principal, params, body }) => registerStartToken(ctx, principal.account.id, params, body),
  }),

  removeLiveActivityStartToken: operation({
    id: "removeLiveActivityStartToken",
    summary: "Remove the token that starts Live Activities of a type",
    description:
      "Removes the token, so that no more Live Activities of the type can be started on the device. Repeating the request changes nothing.",
    session: true,
    params: StartTokenParams,
    errors: ["not_found", "device_not_found"],
    response: { description: "The token was removed.", schema: null },
    run: async ({ ctx, principal, params }) => {
      await removeStartToken(ctx, principal.account.id, params);
      return new RouteResponse(204, null);
    },
  }),
};
