import { defineRoute } from "@/lib/http/route";
import { listAll, sendOne } from "./endpoints";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/push/messages", {
  GET: listAll,
  POST: sendOne,
});
