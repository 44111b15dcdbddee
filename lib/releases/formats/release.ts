import { downloadUrl } from "../download-url";
import { ReleaseVersion } from "../http-schema";
import { formatVersion } from "../schema";
import { selectPrimaryArtifact } from "../selection/select-release";
import type { FormatInput, VersionFormat } from "./version-format";

/** This service's own format, for clients with an updater of their own. */
export const release: VersionFormat = {
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
