import { backupOperations } from "@/lib/admin/backups/operations";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/backups", {
  POST: backupOperations.createBackup,
});
