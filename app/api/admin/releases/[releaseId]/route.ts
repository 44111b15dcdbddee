import { releaseOperations } from "@/lib/admin/releases/operations";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/releases/[releaseId]", {
  GET: releaseOperations.getRelease,
  PATCH: releaseOperations.changeRelease,
  DELETE: releaseOperations.removeRelease,
});
