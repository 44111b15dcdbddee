import { LIVE_ACTIVITY, START_TOKEN } from "@/app/api/push/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "listLiveActivities",
  description:
    "Lists what the app has registered for a device of the caller, newest first. Tokens are not shown in full.",
  responses: {
    200: {
      description: "The Live Activities, and the types that can be started.",
      examples: { "A delivery": { liveActivities: [LIVE_ACTIVITY], startTokens: [START_TOKEN] } },
    },
  },
};
