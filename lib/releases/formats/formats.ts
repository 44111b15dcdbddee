import { ReleaseVersion } from "../http-schema";
import { downloadUrl } from "../release-files";
import { formatVersion } from "../schema";
import { notAllowed } from "../selection/parse-query";
import { selectPrimaryArtifact } from "../selection/select-release";
import { electron } from "./electron";
import { sparkle } from "./sparkle";
import { squirrel } from "./squirrel-mac";
import { tauri } from "./tauri";
import type { FormatInput, VersionFormat } from "./version-format";

/** This service's own format, for clients with an updater of their own. */
const release: VersionFormat = {
  name: "release",
  selectArtifact: selectPrimaryArtifact,
  contentType: "application/json",
  render,
};

function render(input: FormatInput): string {
  const { release, artifact, baseUrl, requestedArchitecture, updateAvailable, mandatory, supportPolicyOf } = input;
  const { minimumSupportedVersion } = supportPolicyOf(release);
  return JSON.stringify(
    ReleaseVersion.parse({
      ...release,
      kind: "release",
      requestedArchitecture,
      version: formatVersion(release.version),
      minimumSupportedVersion: minimumSupportedVersion && formatVersion(minimumSupportedVersion),
      requiresFrom: release.requiresFrom && formatVersion(release.requiresFrom),
      updateAvailable,
      mandatory,
      artifact: { ...artifact, url: downloadUrl(baseUrl, release, artifact) },
    } satisfies ReleaseVersion),
  );
}

const FORMATS: ReadonlyMap<string, VersionFormat> = new Map(
  [electron, tauri, squirrel, sparkle].map((format) => [format.name, format]),
);

/** Finds the format that `format=` names, case-insensitively; by default this service's own. @throws AppError invalid_query */
export function findFormat(name: string | undefined): VersionFormat {
  if (name === undefined) return release;
  const format = FORMATS.get(name.toLowerCase());
  if (format) return format;
  throw notAllowed({ format: [...FORMATS.keys()] });
}
