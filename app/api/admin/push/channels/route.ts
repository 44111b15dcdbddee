import { defineRoute } from "@/lib/http/route";
import { createOne, listAll } from "./endpoints";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/push/channels", {
  GET: listAll,
  POST: createOne,
});
