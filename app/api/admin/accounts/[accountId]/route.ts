import { deleteOne, getOne } from "@/app/api/admin/accounts/endpoints";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/accounts/[accountId]", {
  GET: getOne,
  DELETE: deleteOne,
});
