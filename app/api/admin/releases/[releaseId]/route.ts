import { changeOne, deleteOne, getOne } from "@/app/api/admin/releases/endpoints";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/releases/[releaseId]", {
  GET: getOne,
  PATCH: changeOne,
  DELETE: deleteOne,
});
