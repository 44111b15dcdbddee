import { defineRoute } from "@/lib/http/route";
import { cancelOne, getOne } from "./endpoints";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/push/messages/[messageId]", {
  GET: getOne,
  DELETE: cancelOne,
});
