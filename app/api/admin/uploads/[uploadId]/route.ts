import { appendToOne, deleteOne, getOne } from "@/app/api/admin/uploads/endpoints";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/admin/uploads/[uploadId]",
  { GET: getOne, PATCH: appendToOne, DELETE: deleteOne },
  { takesMethodOverride: true },
);
