import { defineRoute } from "@/lib/platform/http/route";
import { downloadOperations } from "@/lib/releases/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/download/[platform]", {
  GET: downloadOperations.download,
});
