import { CHANNEL } from "@/app/api/admin/push/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "showPushChannel",
  description: "Retrieves a channel from APNs.",
  responses: { 200: { description: "The channel.", examples: { "For a match": CHANNEL } } },
};

export const DELETE: OperationDetails = {
  operationId: "deletePushChannel",
  description:
    "Deletes a channel at APNs. The Live Activities that subscribe to it get no more updates; end them first.",
  responses: { 204: { description: "The channel was deleted." } },
};
