import type { Context } from "../../context";
import { AppError } from "../../errors";
import type { Operator } from "../../principal";
import { recordOperatorEvent } from "../audit/operator-events";
import { createBackup } from "./create-backup";
import type { Backup, NewBackup } from "./schema";

type Deps = Pick<Context, "config" | "database" | "db" | "log" | "now">;

/**
 * Backs up the database to BACKUP_TO. A local command may choose another location: its user can read the database
 * anyway.
 * @throws AppError forbidden, backup_not_configured, backup_in_progress, backup_failed, disk_full
 */
export async function makeBackup(
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
