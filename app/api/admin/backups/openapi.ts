import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "createBackup",
  description:
    "Backs up the database and the generated secrets to `BACKUP_TO`, encrypted if `BACKUP_RECIPIENT` is set. Responds when the file is complete. While the embedded database is copied, writes wait and reads continue. API keys cannot make backups. See “Backups” in docs/deploy.md.",
  requests: { "To BACKUP_TO": {} },
  responses: {
    201: {
      description: "The backup is complete.",
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
  },
};
