import { operation } from "../../operation";
import { makeBackup } from "./backups";
import { Backup, NewBackup } from "./schema";

export const backupOperations = {
  createBackup: operation({
    id: "createBackup",
    summary: "Back up the database",
    description:
      "Backs up the database and the generated secrets to `BACKUP_TO`, encrypted if `BACKUP_RECIPIENT` is set. Responds when the file is complete. While the embedded database is copied, writes wait and reads continue. API keys cannot make backups. See “Backups” in docs/deploy.md.",
    role: "admin",
    stepUp: true,
    body: NewBackup,
    errors: ["backup_in_progress", "backup_not_configured", "backup_failed", "disk_full"],
    examples: { "To BACKUP_TO": {} },
    response: {
      status: 201,
      description: "The backup is complete.",
      schema: Backup,
      examples: {
        "A backup": {
          file: "homeport-20261123T030000Z.backup",
          to: "s3://acme-backups/homeport",
          sizeBytes: 48_217_330,
          isEncrypted: true,
          createdAt: "2026-11-23T03:00:00.000Z",
          seconds: 4.2,
        },
      },
    },
    run: ({ ctx, principal, operator, body }) => makeBackup(ctx, operator, body, { isLocal: "operator" in principal }),
  }),
};
