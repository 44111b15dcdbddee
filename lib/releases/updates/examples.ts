import { z } from "zod";

const BASE = "https://updates.example.com/api/updates/core/stable";
const ED_SIGNATURE = "4RP0Tq0l4dJMhkWj0GqbDsxHlHuLBKBxJ2qUZgNGqFcQ9yQv1Qb3C9ZcFW3DkU4QUPKc3n0zXHTJgq2VbGkTAA==";
const MINISIGN = "dW50cnVzdGVkIGNvbW1lbnQ6IHNpZ25hdHVyZSBmcm9tIHRhdXJpIHNlY3JldCBrZXkK";

const Target = z.object({ url: z.url(), signature: z.string() });

/** Tauri 2, "Updater", "Static JSON File". */
export const TauriStaticFile = z
  .object({
    version: z.string(),
    notes: z.string(),
    pub_date: z.iso.datetime(),
    platforms: z.record(z.string(), Target).describe("By `{os}-{arch}` and `{os}-{arch}-{bundle type}`."),
  })
  .meta({ id: "TauriStaticFile", description: "The response to `latest.json`." });

export const LATEST_JSON = {
  version: "1.2.0",
  notes: "Starts faster.",
  pub_date: "2026-11-03T09:00:00.000Z",
  platforms: {
    "windows-x86_64": { url: `${BASE}/1.2.0/windows-x64/core-setup.exe`, signature: MINISIGN },
    "windows-x86_64-nsis": { url: `${BASE}/1.2.0/windows-x64/core-setup.exe`, signature: MINISIGN },
  },
};

export const APPCAST = `<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:sparkle="http://www.andymatuschak.org/xml-namespaces/sparkle">
<channel>
<title>core</title>
<item>
<title>1.2.0</title>
<pubDate>Tue, 03 Nov 2026 09:00:00 +0000</pubDate>
<sparkle:version>120</sparkle:version>
<sparkle:shortVersionString>1.2.0</sparkle:shortVersionString>
<enclosure url="${BASE}/1.2.0/macos-universal/Core.zip" length="73400320" type="application/zip" sparkle:edSignature="${ED_SIGNATURE}" sparkle:os="macos"/>
<sparkle:deltas>
<enclosure url="${BASE}/1.2.0/macos-universal/Core120-110.delta" length="1048576" type="application/octet-stream" sparkle:edSignature="${ED_SIGNATURE}" sparkle:deltaFrom="110"/>
</sparkle:deltas>
</item>
</channel>
</rss>
`;

export const APP_INSTALLER = `<?xml version="1.0" encoding="utf-8"?>
<AppInstaller xmlns="http://schemas.microsoft.com/appx/appinstaller/2018" Version="1.2.0.0" Uri="${BASE}/core.appinstaller">
<MainPackage Name="Example.Core" Publisher="CN=Example" Version="1.2.0.0" ProcessorArchitecture="x64" Uri="${BASE}/1.2.0/windows-x64/core.msix"/>
<UpdateSettings>
<OnLaunch HoursBetweenUpdateChecks="12"/>
<AutomaticBackgroundTask/>
</UpdateSettings>
</AppInstaller>
`;

export const WINGET_YAML = `# yaml-language-server: $schema=https://aka.ms/winget-manifest.singleton.1.12.0.schema.json
PackageIdentifier: "Example.Core"
PackageVersion: "1.2.0"
PackageLocale: "en-US"
Publisher: "Example"
License: "Proprietary"
ShortDescription: "Does a thing."
PackageName: "core"
Installers:
- Architecture: "x64"
  InstallerType: "nullsoft"
  InstallerUrl: "${BASE}/1.2.0/windows-x64/core-setup.exe"
  InstallerSha256: "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855"
  ReleaseDate: "2026-11-03"
ManifestType: "singleton"
ManifestVersion: "1.12.0"
`;
