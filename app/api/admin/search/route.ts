import { defineRoute } from "@/lib/platform/http/route";
import { searchOperations } from "@/lib/search/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/search", {
  GET: searchOperations.search,
});
