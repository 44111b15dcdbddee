import { LIVE_ACTIVITY_TOKEN, START_TOKEN } from "@/app/api/push/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const PUT: OperationDetails = {
  operationId: "registerLiveActivityStartToken",
  description:
    "Call this operation for each token of ActivityKit's `pushToStartTokenUpdates` (iOS 17.2), which has one for each type of attributes. The device has to be active. A device has the 20 that were registered last.",
  requests: { "A type": { token: LIVE_ACTIVITY_TOKEN } },
  responses: { 200: { description: "The token is stored.", examples: { "A type": START_TOKEN } } },
};

export const DELETE: OperationDetails = {
  operationId: "removeLiveActivityStartToken",
  description:
    "Removes the token, so that no more Live Activities of the type can be started on the device. Repeating the request changes nothing.",
  responses: { 204: { description: "The token was removed." } },
};
