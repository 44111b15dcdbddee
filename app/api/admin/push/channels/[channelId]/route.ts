import { defineRoute } from "@/lib/http/route";
import { deleteOne, showOne } from "./endpoints";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/push/channels/[channelId]", {
  GET: showOne,
  DELETE: deleteOne,
});
