import { stat } from "node:fs/promises";
import path from "node:path";
import type { Context } from "../../context";
import { AppError, CommandError } from "../../errors";
import { type PageQuery, readPage } from "../../platform/lists";
import { isAccessible, type ReleaseReader } from "../access";
import { catalogFileOf } from "../catalog/catalog";
import type { Release } from "../schema";
import { withheldUpdaters } from "../updates/signed-manifests";
import type { ServedFacts } from "./list";
import { type Change, changeManifest, readManifest } from "./manifest-file";
import type { ChangeRecord } from "./recorded-write";

const NOT_EDITABLE =
  "The release catalog is at a URL: change the file that is published there, with `homeport release --catalog FILE`.";

/** Runs what needs the catalog's file. Errors do not name its folder. @throws AppError catalog_not_editable */
export async function withCatalogFile<T>(config: Context["config"], run: (file: string) => Promise<T>): Promise<T> {
  const file = catalogFileOf(config);
  if (file === null) throw new AppError("catalog_not_editable", NOT_EDITABLE);
  try {
    return await run(file);
  } catch (error) {
    if (!(error instanceof AppError || error instanceof CommandError)) throw error;
    const detail = withoutFolder(error.message, file);
    if (error instanceof CommandError) throw new AppError("file_changed", { detail, cause: error });
    if (detail === error.message) throw error;
    throw new AppError(error.code, { ...error.extras, detail, cause: error });
  }
}

/** Hides the folder of this machine in a message for callers of the API. */
export function withoutFolder(message: string, catalogFile: string): string {
  return message.replaceAll(path.dirname(catalogFile), "The catalog's folder");
}

/**
 * Changes the service's catalog together with the record of the change, and serves it.
 * @throws AppError those of `changeManifest` and `withCatalogFile`
 */
export async function changeCatalog<T>(
  deps: Pick<Context, "catalog" | "config" | "db" | "dbNow" | "rollouts">,
  change: Change<T>,
  record: ChangeRecord<T>["record"],
): Promise<T> {
  const result = await withCatalogFile(deps.config, (file) => changeManifest(file, change, { deps, record }));
  await refreshCatalog(deps);
  return result;
}

/** Makes this process serve what was changed. The change is done even if the schedules cannot be read again now. */
export async function refreshCatalog({ catalog, rollouts }: Pick<Context, "catalog" | "rollouts">): Promise<void> {
  await catalog.refresh();
  await rollouts.refresh().catch(() => {}); // the background task reads them again
}

/**
 * The catalog's releases without their schedules, of the file as it is now, or of the URL.
 * @throws AppError catalog_unavailable; those of `withCatalogFile`
 */
export async function readCatalog(deps: Pick<Context, "config" | "rollouts">): Promise<readonly Release[]> {
  if (catalogFileOf(deps.config) !== null) return withCatalogFile(deps.config, readIfChanged);
  const releases = deps.rollouts.catalogReleases();
  if (!releases) throw new AppError("catalog_unavailable");
  return releases;
}

/** What this process says of releases as it serves them: whether they are admitted, and from whom they are withheld. */
export function servedFacts({ catalog, policies }: Pick<Context, "catalog" | "policies">) {
  const snapshot = catalog.current();
  return (release: Release): ServedFacts => {
    const admission = policies.admissionOf(release);
    const withheldFrom = snapshot ? withheldUpdaters(snapshot, release) : [];
    return { ...(admission && { admission }), ...(withheldFrom.length > 0 && { withheldFrom }) };
  };
}

/** The manifest that was read last. Parsing thousands of releases takes longer than a page may. */
let last: { state: string; releases: readonly Release[] } | undefined;

/** Reads the manifest, unless it is the file that was read last: a change gives it another time. */
async function readIfChanged(file: string): Promise<readonly Release[]> {
  const found = await stat(file, { bigint: true }).catch(() => null);
  const state = found && [file, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(" ");
  if (state !== null && last?.state === state) return last.releases;
  const { releases } = await readManifest(file);
  if (state !== null) last = { state, releases };
  return releases;
}

/** A release of the catalog's file by its id: commands also take a version, which can mean several. @throws AppError */
export function findRelease(config: Context["config"], reader: ReleaseReader, id: string): Promise<Release> {
  return withCatalogFile(config, async (file) => {
    const { releases } = await readManifest(file);
    const found = releases.find((release) => release.id === id);
    if (!found || !isAccessible(reader.releaseAccess, found)) throw new AppError("release_not_found");
    return found;
  });
}

/** A page of a list in memory. @throws AppError invalid_query */
export function pageOf<T extends { id: string }>(name: string, query: PageQuery, all: readonly T[]) {
  return readPage(name, query, ({ after, take }) => {
    const start = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
    return all.slice(start, start + take);
  });
}
