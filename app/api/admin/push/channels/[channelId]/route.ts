import { defineRoute } from "@/lib/http/route";
import { deleteOne, getOne } from "./endpoints";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/push/channels/[channelId]", {
  GET: getOne,
  DELETE: deleteOne,
});
