import { downloadUrl } from "../address";
import { ReleaseVersion, versionText } from "../schema";
import { mainArtifact } from "../selection/selection";
import type { Feed, News } from "./feed";

/** This service's own answer, for clients that bring their own updater. */
export const release: Feed = { name: "release", take: mainArtifact, contentType: "application/json", write };

function write({
  release,
  offer,
  baseUrl,
  requestedArchitecture,
  updateAvailable,
  mandatory,
  supportOf,
}: News): string {
  const { minimumSupportedVersion } = supportOf(release);
  return JSON.stringify(
    ReleaseVersion.parse({
      ...release,
      kind: "release",
      requestedArchitecture,
      version: versionText(release.version),
      minimumSupportedVersion: minimumSupportedVersion && versionText(minimumSupportedVersion),
      updateAvailable,
      mandatory,
      artifact: { ...offer.artifact, url: downloadUrl(baseUrl, release, offer.kind) },
    } satisfies ReleaseVersion),
  );
}
