import { defineRoute } from "@/lib/platform/http/route";
import { uploadOperations } from "@/lib/releases/uploads/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/admin/uploads/[uploadId]",
  { GET: uploadOperations.readUpload, PATCH: uploadOperations.appendToUpload, DELETE: uploadOperations.removeUpload },
  { takesMethodOverride: true },
);
