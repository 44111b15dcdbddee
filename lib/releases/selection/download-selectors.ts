import type { DownloadQuery } from "../http-schema";
import { completeFiles, releaseFiles } from "../release-files";
import type { Platform } from "../schema";
import { parseFileType, selectByFileType } from "./file-types";
import { type ArtifactSelector, SELECTORS_BY_KIND } from "./select-release";

/** Picks the installer, else another file, else the update: `format` chooses among them. */
const selectForPeople: ArtifactSelector = ({ artifacts: { installer, others, update } }) =>
  installer ?? others[0] ?? update;

const selectForUpdaters: ArtifactSelector = (release) => completeFiles(release)[0];

/**
 * The files that a download may be, best first: the next one is for products without the one before. Without `format`
 * and `kind`, people on Linux get an AppImage, which runs on every distribution, else the installer.
 * @throws AppError invalid_query
 */
export function downloadSelectors(
  platform: Platform,
  { kind, format, file }: Pick<DownloadQuery, "kind" | "format" | "file">,
): readonly ArtifactSelector[] {
  if (file !== undefined) return [(release) => releaseFiles(release).find(({ fileName }) => fileName === file)];
  if (format !== undefined) {
    return [selectByFileType(kind === "update" ? selectForUpdaters : selectForPeople, parseFileType(format))];
  }
  if (kind !== undefined) return [SELECTORS_BY_KIND[kind]];
  const installer = SELECTORS_BY_KIND.installer;
  return platform === "linux" ? [selectByFileType(selectForPeople, "appimage"), installer] : [installer];
}

/** Whether a download of one version is the same file for good, even if files are added to its release. */
export function isSingleFile(
  platform: Platform,
  { kind, format, file }: Pick<DownloadQuery, "kind" | "format" | "file">,
): boolean {
  return file !== undefined || (format === undefined && (kind !== undefined || platform !== "linux"));
}
