import { defineRoute } from "@/lib/http/route";
import { cancelOne, showOne } from "./endpoints";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/push/messages/[messageId]", {
  GET: showOne,
  DELETE: cancelOne,
});
