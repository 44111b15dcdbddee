import { changeOne, deleteOne, getOne } from "@/app/api/admin/webhooks/endpoints";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/webhooks/[endpointId]", {
  GET: getOne,
  PATCH: changeOne,
  DELETE: deleteOne,
});
