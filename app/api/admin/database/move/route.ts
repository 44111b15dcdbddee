import { databaseOperations } from "@/lib/backup/move-database/operations";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/database/move", {
  GET: databaseOperations.getDatabaseMove,
  POST: databaseOperations.moveDatabase,
  DELETE: databaseOperations.cancelDatabaseMove,
});
