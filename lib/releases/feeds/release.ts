import { downloadUrl } from "../download-url";
import { formatVersion, ReleaseVersion } from "../schema";
import { selectPrimaryArtifact } from "../selection/selection";
import type { Feed, FeedInput } from "./feed";

/** This service's own answer, for clients that bring their own updater. */
export const release: Feed = {
  name: "release",
  selectArtifact: selectPrimaryArtifact,
  contentType: "application/json",
  render: write,
};

function write({
  release,
  selected: offer,
  baseUrl,
  requestedArchitecture,
  updateAvailable,
  mandatory,
  supportPolicyOf: supportOf,
}: FeedInput): string {
  const { minimumSupportedVersion } = supportOf(release);
  return JSON.stringify(
    ReleaseVersion.parse({
      ...release,
      kind: "release",
      requestedArchitecture,
      version: formatVersion(release.version),
      minimumSupportedVersion: minimumSupportedVersion && formatVersion(minimumSupportedVersion),
      updateAvailable,
      mandatory,
      artifact: { ...offer.artifact, url: downloadUrl(baseUrl, release, offer.kind) },
    } satisfies ReleaseVersion),
  );
}
