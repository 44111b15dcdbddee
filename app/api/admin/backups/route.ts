import { backupOperations } from "@/lib/backup/operations";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/backups", {
  POST: backupOperations.createBackup,
});
