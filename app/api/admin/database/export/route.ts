import { databaseOperations } from "@/lib/platform/backup/operations";
import { defineRoute } from "@/lib/platform/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/database/export", {
  POST: databaseOperations.exportDatabase,
});
