/**
 * Why a command about releases was rejected. Scripts may rely on these codes.
 *
 * - `release_invalid`: fields or files that the service would reject, or that are likely to be a mistake
 * - `confirmation_required`: a likely mistake that the operator may confirm
 * - `release_conflict`: the version is published with other bytes
 * - `release_yanked`: the release is yanked
 * - `release_not_found`: no release matches
 * - `release_in_use`: clients may be downloading the release
 * - `rollout_invalid`: a schedule that is not possible
 * - `signature_invalid`: a signature is for another file, key or version
 * - `file_unreadable`, `file_changed`: a file to publish is missing, empty, or changed meanwhile
 * - `folder_unknown`, `folder_incomplete`: no tool's output is recognized, or files of it are missing
 * - `catalog_invalid`, `catalog_locked`, `catalog_not_editable`: the manifest cannot be changed
 * - `disk_full`: the disk or quota is used up
 */
export type PublishingErrorCode =
  | "release_invalid"
  | "confirmation_required"
  | "release_conflict"
  | "release_yanked"
  | "release_not_found"
  | "release_in_use"
  | "rollout_invalid"
  | "signature_invalid"
  | "file_unreadable"
  | "file_changed"
  | "folder_unknown"
  | "folder_incomplete"
  | "catalog_invalid"
  | "catalog_locked"
  | "catalog_not_editable"
  | "disk_full";

/** An error whose message is meant for the operator. */
export class PublishingError extends Error {
  override readonly name = "PublishingError";

  constructor(
    message: string,
    readonly code: PublishingErrorCode = "release_invalid",
  ) {
    super(message);
  }
}

/** The operator may confirm with `isNew` that this is intended. */
export class ConfirmationRequiredError extends PublishingError {
  constructor(message: string) {
    super(message, "confirmation_required");
  }
}

/** A signature is for another file, key or version. */
export class SignatureError extends PublishingError {
  constructor(message: string) {
    super(message, "signature_invalid");
  }
}

/** Describes a full disk to the operator. Returns any other error as it is. */
export function describeDiskError(error: unknown, folder: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "ENOSPC" && code !== "EDQUOT") return error;
  const reason = code === "ENOSPC" ? "The disk is full" : "The disk quota is used up";
  return new PublishingError(`${reason}: ${folder} has no space left. The catalog was not changed.`, "disk_full");
}
