/** Why a backup cannot be read or restored. */
export type BackupErrorCode =
  | "backup_invalid"
  | "backup_damaged"
  | "backup_too_new"
  | "identity_required"
  | "identity_invalid"
  | "wrong_key"
  | "target_not_empty"
  | "file_not_found";

/** A backup cannot be read or restored. The message is for operators. */
export class BackupError extends Error {
  override readonly name = "BackupError";

  constructor(
    readonly code: BackupErrorCode,
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

export const notFound = ({ message }: Error) =>
  new BackupError("file_not_found", `The file cannot be read: ${message}.`);
