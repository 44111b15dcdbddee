import { releaseOperations } from "@/lib/admin/releases/operations";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/releases", {
  GET: releaseOperations.listReleases,
  POST: releaseOperations.publishReleases,
  PATCH: releaseOperations.changeReleases,
});
