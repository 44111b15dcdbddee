import { emptyElement, escapeXml } from "../formats/xml";
import { normalizeArchitecture } from "../platforms";
import { completeFiles } from "../release-files";
import type { Artifact, PackageIdentity, Release } from "../schema";
import { supportPolicyOf } from "../selection/support-policy";
import { selectUpdate, type UpdaterRules } from "./select-update";
import { storedFileUrls } from "./stored-files";
import { missingRelease, recordCheck, toDocument, type UpdateFeed } from "./update-feed";

/** Windows 10 1809 and later: the first schema with every element below. */
const NAMESPACE = "http://schemas.microsoft.com/appx/appinstaller/2018";
const CONTENT_TYPE = "application/appinstaller; charset=utf-8";
const HOURS_BETWEEN_CHECKS = "12";
/** What these updaters need, for the detail of release_not_found. */
export const PACKAGE_REQUIREMENTS =
  "An MSIX update needs an .msix or .msixbundle that was published with its identity, as `release add` reads it.";
const RULES: UpdaterRules = {
  selectArtifact: packageOf,
  comparesSystemVersion: () => true, // the package names its minimum, and Windows refuses to install it on an older one
};

/** Windows' App Installer (Microsoft, "App Installer file schema") compares versions itself and sends nothing. */
export const appInstallerFeed: UpdateFeed = {
  pattern: /^(?<product>[^/]+)\.appinstaller$/i,
  resolve: (request, { product = "" }) => {
    if (product.toLowerCase() !== request.product) return null;
    const { arch } = request.query;
    const architecture = normalizeArchitecture(arch ?? "x64");
    const selector = { platform: "windows", product: request.product, channel: request.channel, architecture } as const;
    const { release, isClientSpecific } = selectUpdate(request, selector, RULES);
    const file = release && packageOf(release);
    if (!release || !file?.packageIdentity) throw missingRelease(PACKAGE_REQUIREMENTS);
    recordCheck(request, { ...selector, architecture: arch === undefined ? null : architecture }, release);
    const { baseUrl } = request.deps.config;
    const folder = arch === undefined ? "" : `/${architecture}`;
    const uri = `${baseUrl}/api/updates/${request.product}/${request.channel}${folder}/${request.product}.appinstaller`;
    const replacesNewer = supportPolicyOf(request.snapshot, selector, release).replacedVersions.size > 0;
    const uris = { uri, fileUri: storedFileUrls(baseUrl)(release, file) };
    const text = render(file.packageIdentity, { ...uris, isCritical: release.critical, replacesNewer });
    return toDocument({ text, contentType: CONTENT_TYPE, isClientSpecific });
  },
};

export function packageOf(release: Release): Artifact | undefined {
  return completeFiles(release).find(({ packageIdentity }) => packageIdentity !== undefined);
}

/** `replacesNewer`: the release is a rollback of a withdrawn version. Windows then goes back from any newer one. */
type Settings = { uri: string; fileUri: string; isCritical: boolean; replacesNewer: boolean };

function render(
  { name, publisher, version, architecture }: PackageIdentity,
  { uri, fileUri, isCritical, replacesNewer }: Settings,
): string {
  const main = emptyElement(architecture === null ? "MainBundle" : "MainPackage", {
    Name: name,
    Publisher: publisher,
    Version: version,
    ProcessorArchitecture: architecture ?? undefined,
    Uri: fileUri,
  });
  // A critical update is installed before the app starts. Others are installed after the app has been closed.
  const isBlocking = isCritical ? "true" : undefined;
  const onLaunch = emptyElement("OnLaunch", {
    HoursBetweenUpdateChecks: isCritical ? "0" : HOURS_BETWEEN_CHECKS,
    ShowPrompt: isBlocking,
    UpdateBlocksActivation: isBlocking,
  });
  const downgrade = replacesNewer ? "<ForceUpdateFromAnyVersion>true</ForceUpdateFromAnyVersion>\n" : "";
  return `<?xml version="1.0" encoding="utf-8"?>
<AppInstaller xmlns="${NAMESPACE}" Version="${version}" Uri="${escapeXml(uri)}">
${main}
<UpdateSettings>
${onLaunch}
<AutomaticBackgroundTask/>
${downgrade}</UpdateSettings>
</AppInstaller>
`;
}
