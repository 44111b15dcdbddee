import { releaseOperations } from "@/lib/admin/releases/operations";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/releases/removals", {
  POST: releaseOperations.removeReleases,
});
