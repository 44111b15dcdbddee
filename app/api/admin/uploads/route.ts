import { defineRoute } from "@/lib/platform/http/route";
import { uploadOperations } from "@/lib/releases/uploads/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/uploads", {
  OPTIONS: uploadOperations.describeUploads,
  POST: uploadOperations.createUpload,
});
