import { publisherOperations } from "@/lib/auth/publishers/operations";
import { defineRoute } from "@/lib/platform/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/publishers", {
  GET: publisherOperations.listPublishers,
  POST: publisherOperations.addPublisher,
});
