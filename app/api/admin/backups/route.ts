import { makeBackup } from "@/lib/admin/backups/backups";
import { Backup, NewBackup } from "@/lib/admin/backups/schema";
import { operatorOf } from "@/lib/admin/operator";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/backups", {
  POST: endpoint({
    summary: "Back up the database",
    auth: { role: "admin", stepUp: true },
    body: NewBackup,
    errors: ["backup_in_progress", "backup_not_configured", "backup_failed", "disk_full"],
    responses: { 201: Backup },
    handle: ({ ctx, principal, body, caller }) =>
      makeBackup(ctx, operatorOf(principal, caller), body, { isLocal: "operator" in principal }),
  }),
});
