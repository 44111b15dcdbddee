import { z } from "zod";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { operation } from "../../operation";
import type { Operator } from "../../principal";
import { commandLineOf, recordOperatorEvent } from "../audit/operator-events";
import { isDatabaseUnavailable } from "../database-errors";
import { copyForExport, createBackup } from "./create-backup";
import { cancelMove, DatabaseMove, NewDatabaseMove, readMove, startMove } from "./move-database";

const NewBackup = z.strictObject({
  to: z
    .string()
    .trim()
    .min(1)
    .max(1_000)
    .optional()
    .describe(
      "A folder on the service's machine, or `s3://BUCKET/PREFIX`. Only for commands on that machine. Default: `BACKUP_TO`.",
    ),
});
type NewBackup = z.infer<typeof NewBackup>;

const Backup = z.object({
  file: z.string().describe("The name of the file, `homeport-TIME.backup`."),
  to: z.string(),
  sizeBytes: z.number().int(),
  isEncrypted: z.boolean(),
  createdAt: z.date().describe("The time of the state that the backup has."),
  seconds: z.number(),
});

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

const NewExport = z.strictObject({
  maxPauseSeconds: z
    .int()
    .min(1)
    .max(3_600)
    .default(10)
    .describe("How long writes to the embedded database may wait while it is copied."),
});
type NewExport = z.infer<typeof NewExport>;

const ExportedRows = z.object({
  file: z.string().describe("The file, in the data folder. The caller removes it."),
  sizeBytes: z.int(),
  createdAt: z.date(),
});

type Deps = Pick<Context, "config" | "database" | "db" | "log" | "now">;

/** @throws AppError backup_in_progress, backup_failed, disk_full */
async function exportRows(deps: Deps, operator: Operator, { maxPauseSeconds }: NewExport) {
  const event = { type: "database_exported", target: "database" } as const;
  const recordFile = () => recordEvent(deps, operator, event);
  return copyForExport(deps, { maxPauseMs: maxPauseSeconds * 1000, recordFile });
}

/**
 * Backs up the database to BACKUP_TO. A local command may choose another location: its user can read the database
 * anyway.
 * @throws AppError forbidden, backup_not_configured, backup_in_progress, backup_failed, disk_full
 */
async function makeBackup(deps: Deps, operator: Operator, { to }: NewBackup, { isLocal }: { isLocal: boolean }) {
  if (to !== undefined && !isLocal) {
    throw new AppError("forbidden", "Only a command on the service's machine may choose the location of a backup.");
  }
  const location = to ?? deps.config.BACKUP_TO;
  if (location === undefined) throw new AppError("backup_not_configured", "BACKUP_TO is not set.");
  const recordFile = (file: string, sizeBytes: number) =>
    recordEvent(deps, operator, {
      type: "backup_made",
      target: `backup:${file}`,
      details: { to: location, sizeBytes },
    });
  return { ...(await createBackup(deps, location, { recordFile })), to: location };
}

/** @throws AppError unavailable, since the database has failed and not the backup; unauthenticated */
async function recordEvent(deps: Deps, operator: Operator, event: Parameters<typeof recordOperatorEvent>[3]) {
  const record = (tx: Tx) => recordOperatorEvent(tx, deps.now(), operator, event);
  await deps.db.$transaction(record).catch((error: unknown) => {
    throw isDatabaseUnavailable(error) ? new AppError("unavailable", { cause: error }) : error;
  });
}

const TO = "postgres://homeport@db.example.com/homeport";

const RUNNING = { state: "running", to: TO, step: "copying", share: 0.42, result: null, error: null };

const MOVED = {
  ...RUNNING,
  state: "moved",
  step: "finishing",
  share: 1,
  result: { rows: 1_204_331, tables: 44, resumedTables: 0, pausedMs: 2840 },
};

const NONE = { ...RUNNING, state: "none", to: null, step: null, share: 0 };

export const databaseOperations = {
  exportDatabase: operation({
    id: "exportDatabase",
    summary: "Copy the rows for an export",
    description:
      "Writes the rows of one moment to a file in the data folder, from which `homeport export` makes its folder. While the embedded database is copied, writes wait and reads continue. Only for that command on the service's machine.",
    role: "admin",
    body: NewExport,
    errors: ["backup_in_progress", "backup_failed", "disk_full"],
    examples: { "With the default": {} },
    response: {
      status: 201,
      description: "The file is complete.",
      schema: ExportedRows,
      examples: {
        "The rows": {
          file: "/var/lib/homeport/export/homeport-20261123T030000Z.backup",
          sizeBytes: 48_217_330,
          createdAt: "2026-11-23T03:00:00.000Z",
        },
      },
    },
    run: ({ ctx, principal, body }) => exportRows(ctx, commandLineOf(principal), body),
  }),

  getDatabaseMove: operation({
    id: "getDatabaseMove",
    summary: "Show the move of the database",
    description:
      "Returns the progress of the move of the embedded database. A move ends when nobody has requested this for 20 seconds. Only for `homeport db move` on the service's machine.",
    role: "admin",
    response: {
      description: "The state of the move.",
      schema: DatabaseMove,
      examples: { Running: RUNNING, Moved: MOVED, None: NONE },
    },
    run: ({ ctx, principal }) => commandLineOf(principal) && readMove(ctx),
  }),

  moveDatabase: operation({
    id: "moveDatabase",
    summary: "Move the database to PostgreSQL",
    description:
      "Moves the embedded database to PostgreSQL in the background, or continues an interrupted move. While one is running or complete, returns its state if the target is the same. Reads and writes continue; writes wait while the last changes are copied, and get 503 afterwards, until the service is restarted with `DATABASE_URL`. Only for `homeport db move` on the service's machine.",
    role: "admin",
    body: NewDatabaseMove,
    errors: ["move_in_progress"],
    examples: { PostgreSQL: { to: "postgres://homeport:secret@db.example.com/homeport" } },
    response: { description: "The move has begun.", schema: DatabaseMove, examples: { Running: RUNNING } },
    run: ({ ctx, principal, body }) => startMove(ctx, commandLineOf(principal), body),
  }),

  cancelDatabaseMove: operation({
    id: "cancelDatabaseMove",
    summary: "Cancel the move of the database",
    description:
      "Ends the move and discards its progress. After a complete move, the service writes to the embedded database again. Only for `homeport db move --cancel` on the service's machine.",
    role: "admin",
    response: { description: "There is no move.", schema: DatabaseMove, examples: { None: NONE } },
    run: ({ ctx, principal }) => cancelMove(ctx, commandLineOf(principal)),
  }),
};
