import { CHANNEL } from "@/app/api/admin/push/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

const { id, channelId, environment, bundleId } = CHANNEL;

export const GET: OperationDetails = {
  operationId: "listPushChannels",
  description:
    "Retrieves the channels of an app in an environment from APNs: at most 10,000. The service stores none of them.",
  responses: {
    200: {
      description: "The channels.",
      examples: { "One channel": { environment, bundleId, channels: [{ id, channelId }] } },
    },
  },
};

export const POST: OperationDetails = {
  operationId: "createPushChannel",
  description:
    "Creates a channel at APNs, which Live Activities can subscribe to from iOS 18 on. The app's identifier needs the broadcast capability in Apple's developer account. The policy of a channel cannot be changed. Delete it when the event is over.",
  requests: { "For a match": { messageStoragePolicy: "most_recent" } },
  responses: { 201: { description: "The channel.", examples: { "For a match": CHANNEL } } },
};
