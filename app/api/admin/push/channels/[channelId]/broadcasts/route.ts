import { pushOperations } from "@/lib/admin/push/operations";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/admin/push/channels/[channelId]/broadcasts",
  {
    POST: pushOperations.broadcastToPushChannel,
  },
);
