import { defineRoute } from "@/lib/platform/http/route";
import { releaseOperations } from "@/lib/releases/publishing/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/releases/file-url", {
  GET: releaseOperations.getFileUrl,
});
