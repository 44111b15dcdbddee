import { defineRoute } from "@/lib/platform/http/route";
import { updateOperations } from "@/lib/releases/updates/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/updates/[product]/[channel]/[...file]",
  { GET: updateOperations.getUpdate },
);
