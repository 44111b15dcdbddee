import { LIVE_ACTIVITY, LIVE_ACTIVITY_TOKEN } from "@/app/api/push/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const PUT: OperationDetails = {
  operationId: "registerLiveActivity",
  description:
    "Call this operation for each token of ActivityKit's `pushTokenUpdates`: a token may change while the activity runs. The device has to be active. A device has the 20 that were registered last.",
  requests: { "A delivery": { attributesType: "DeliveryAttributes", token: LIVE_ACTIVITY_TOKEN } },
  responses: { 200: { description: "The token is stored.", examples: { "A delivery": LIVE_ACTIVITY } } },
};

export const DELETE: OperationDetails = {
  operationId: "removeLiveActivity",
  description:
    "Removes the token of an activity that has ended or was dismissed. The service removes it, too, once it has sent the end, or APNs has reported the token as invalid. Repeating the request changes nothing.",
  responses: { 204: { description: "The activity gets no more notifications." } },
};
