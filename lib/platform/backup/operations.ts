import type { Context } from "../../context";
import { AppError } from "../../errors";
import { operation } from "../../operation";
import type { Operator } from "../../principal";
import { recordOperatorEvent } from "../audit/operator-events";
import { createBackup } from "./create-backup";
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

type Deps = Pick<Context, "config" | "database" | "db" | "log" | "now">;

/**
 * Backs up the database to BACKUP_TO. A local command may choose another location: its user can read the database
 * anyway.
 * @throws AppError forbidden, backup_not_configured, backup_in_progress, backup_failed, disk_full
 */
async function makeBackup(
  deps: Deps,
  operator: Operator,
  { to }: NewBackup,
  { isLocal }: { isLocal: boolean },
): Promise<Backup> {
  if (to !== undefined && !isLocal) {
    throw new AppError("forbidden", {
      detail: "Only a command on the service's machine may choose the location of a backup.",
    });
  }
  const location = to ?? deps.config.BACKUP_TO;
  if (location === undefined) throw new AppError("backup_not_configured", { detail: "BACKUP_TO is not set." });
  const created = await createBackup(deps, location);
  const { file, sizeBytes } = created;
  const event = { type: "backup_made", target: `backup:${file}`, details: { to: location, sizeBytes } } as const;
  await deps.db.$transaction((tx) => recordOperatorEvent(tx, deps.now(), operator, event));
  return { ...created, to: location };
}
