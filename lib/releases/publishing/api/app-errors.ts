import path from "node:path";
import type { Context } from "../../../context";
import { AppError, type ErrorCode } from "../../../errors";
import { catalogFileOf } from "../../catalog/catalog";
import { PublishingError, type PublishingErrorCode } from "../manifest/publishing-error";

/** The codes that clients receive. Those that only a command can cause become more general ones here. */
const CODES: Readonly<Record<PublishingErrorCode, ErrorCode>> = {
  release_invalid: "release_invalid",
  confirmation_required: "confirmation_required",
  release_conflict: "release_conflict",
  release_yanked: "release_yanked",
  release_not_found: "release_not_found",
  release_in_use: "release_in_use",
  rollout_invalid: "rollout_invalid",
  signature_invalid: "signature_invalid",
  file_unreadable: "file_changed",
  file_changed: "file_changed",
  folder_unknown: "release_invalid",
  folder_incomplete: "release_invalid",
  catalog_invalid: "catalog_invalid",
  catalog_locked: "catalog_locked",
  catalog_not_editable: "catalog_not_editable",
  disk_full: "disk_full",
};

const NOT_EDITABLE =
  "The release catalog is at a URL: change the file that is published there, with `homeport release --catalog FILE`.";

/** The file of the service's catalog. @throws AppError catalog_not_editable */
export function requireCatalogFile(config: Context["config"]): string {
  const file = catalogFileOf(config);
  if (file === null) throw new AppError("catalog_not_editable", { detail: NOT_EDITABLE });
  return file;
}

/** Runs a change of the catalog. Its errors become those of the API, without the folder of this machine. */
export async function withAppErrors<T>(catalogFile: string | null, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof PublishingError)) throw error;
    const detail = withoutFolder(error.message, catalogFile);
    throw new AppError(CODES[error.code], { detail, cause: error });
  }
}

/** Hides the folder of this machine in a message for callers of the API. */
export function withoutFolder(message: string, catalogFile: string | null): string {
  return catalogFile === null ? message : message.replaceAll(path.dirname(catalogFile), "The catalog's folder");
}

/** Makes this process serve what was changed. The change is done even if the schedules cannot be read again now. */
export async function refreshCatalog({ catalog, rollouts }: Pick<Context, "catalog" | "rollouts">): Promise<void> {
  await catalog.refresh();
  await rollouts.refresh().catch(() => {}); // the background task reads them again
}
