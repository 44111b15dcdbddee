import { compareSystemVersions } from "../platforms";
import { downloadUrl } from "../release-files";
import type { Release } from "../schema";
import { renderAppcast, systemVersion } from "./appcast";
import { type FormatInput, selectByFileName, type VersionFormat } from "./version-format";

const signedFile = selectByFileName(
  { windows: /\.(exe|msi)$/i, macos: /\.(zip|dmg|aar|pkg|mpkg|tar|tgz|tar\.(gz|bz2|xz))$/i },
  ({ edSignature }) => edSignature !== undefined, // an app with a public key rejects unsigned updates
);

/** An appcast of Sparkle 2 and WinSparkle for one platform. Clients compare versions, and skip what they cannot run. */
export const sparkle: VersionFormat = {
  name: "sparkle",
  selectArtifact: (release) => (release.signedDocuments.sparkle === null ? undefined : signedFile(release)),
  requirements:
    "Sparkle needs a .zip, .dmg, .tar.xz, .pkg or similar, WinSparkle an .exe or .msi, with an EdDSA signature. WinSparkle compares only two numbers of a system version: send systemVersion.",
  comparesSystemVersion: (release) =>
    compareSystemVersions(systemVersion(release), release.minimumSystemVersion ?? "") === 0,
  comparesBuildVersions: true,
  contentType: "application/rss+xml; charset=utf-8",
  render,
};

function render(input: FormatInput): string {
  const { release, baseUrl, mandatory, supportPolicyOf, isHiddenSample, findReleasesForOlderSystems, buildVersionOf } =
    input;
  if (release.signedDocuments.sparkle) return release.signedDocuments.sparkle;
  const releases = isHiddenSample ? [] : [release, ...findReleasesForOlderSystems()];
  const items = releases.flatMap((one: Release) => {
    const artifact = sparkle.selectArtifact(one);
    const isMandatory = one === release && mandatory === true;
    const urlOf = downloadUrl.bind(null, baseUrl);
    return artifact
      ? [{ release: one, artifact, isMandatory, policy: supportPolicyOf(one), urlOf, buildVersionOf }]
      : [];
  });
  return renderAppcast(release.product, baseUrl, items);
}
