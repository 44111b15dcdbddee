import path from "node:path";
import type { Context } from "../../context";
import { AppError, CommandError } from "../../errors";
import { catalogFileOf } from "../catalog/catalog";
import type { ReleaseDocument } from "./list";

const NOT_EDITABLE =
  "The release catalog is at a URL: change the file that is published there, with `homeport release --catalog FILE`.";

/** The file of the service's catalog. @throws AppError catalog_not_editable */
export function requireCatalogFile(config: Context["config"]): string {
  const file = catalogFileOf(config);
  if (file === null) throw new AppError("catalog_not_editable", { detail: NOT_EDITABLE });
  return file;
}

/** Runs a change of the catalog. Its errors do not name the folder of this machine. */
export async function withAppErrors<T>(catalogFile: string | null, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof AppError || error instanceof CommandError)) throw error;
    const detail = withoutFolder(error.message, catalogFile);
    if (error instanceof CommandError) throw new AppError("file_changed", { detail, cause: error });
    if (detail === error.message) throw error;
    throw new AppError(error.code, { ...error.extras, detail, cause: error });
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

/** The fields of a release that a change sets, before and after it, for the audit trail. null: the release had no such field. */
export function changedFields(before: readonly ReleaseDocument[], id: string, to: object) {
  const release = before.find((one) => one.id === id);
  const valueBefore = (name: string) => release?.[name as keyof ReleaseDocument] ?? null;
  return { from: Object.fromEntries(Object.keys(to).map((name) => [name, valueBefore(name)])), to };
}
