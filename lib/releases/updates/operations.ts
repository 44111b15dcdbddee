import { z } from "zod";
import { type Content, type DescribedOperation, operation } from "../../operation";
import { contentResponse } from "../../platform/http/content/content-response";
import { DOWNLOAD_ERRORS } from "../download";
import { UpdateParams, UpdateQuery } from "../http-schema";
import { FILE_HEADERS, FILE_REQUEST_HEADERS, FILE_RESPONSES } from "../operations";
import { ReportParams, reportUpdate, UpdateReport } from "../rollouts/receive-update-report";
import { resolveUpdate } from "./resolve-update";

const BASE = "https://updates.example.com/api/updates/core/stable";
const ED_SIGNATURE = "4RP0Tq0l4dJMhkWj0GqbDsxHlHuLBKBxJ2qUZgNGqFcQ9yQv1Qb3C9ZcFW3DkU4QUPKc3n0zXHTJgq2VbGkTAA==";
const MINISIGN = "dW50cnVzdGVkIGNvbW1lbnQ6IHNpZ25hdHVyZSBmcm9tIHRhdXJpIHNlY3JldCBrZXkK";

const Target = z.object({ url: z.url(), signature: z.string() });

/** Tauri 2, "Updater", "Static JSON File". */
const TauriStaticFile = z
  .object({
    version: z.string(),
    notes: z.string(),
    pub_date: z.iso.datetime(),
    platforms: z.record(z.string(), Target).describe("By `{os}-{arch}` and `{os}-{arch}-{bundle type}`."),
  })
  .meta({ id: "TauriStaticFile", description: "The response to `latest.json`." });

const LATEST_JSON = {
  version: "1.2.0",
  notes: "Starts faster.",
  pub_date: "2026-11-03T09:00:00.000Z",
  platforms: {
    "windows-x86_64": { url: `${BASE}/1.2.0/windows-x64/core-setup.exe`, signature: MINISIGN },
    "windows-x86_64-nsis": { url: `${BASE}/1.2.0/windows-x64/core-setup.exe`, signature: MINISIGN },
  },
};

const APPCAST = `<?xml version="1.0" encoding="utf-8"?>
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

const APP_INSTALLER = `<?xml version="1.0" encoding="utf-8"?>
<AppInstaller xmlns="http://schemas.microsoft.com/appx/appinstaller/2018" Version="1.2.0.0" Uri="${BASE}/core.appinstaller">
<MainPackage Name="Example.Core" Publisher="CN=Example" Version="1.2.0.0" ProcessorArchitecture="x64" Uri="${BASE}/1.2.0/windows-x64/core.msix"/>
<UpdateSettings>
<OnLaunch HoursBetweenUpdateChecks="12"/>
<AutomaticBackgroundTask/>
</UpdateSettings>
</AppInstaller>
`;

const WINGET_YAML = `# yaml-language-server: $schema=https://aka.ms/winget-manifest.singleton.1.12.0.schema.json
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

const SHA512 = "z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==";

const LATEST_YML = `version: "1.2.0"
files:
  - url: "1.2.0/windows-x64/Acme%20Setup%201.2.0.exe"
    sha512: "${SHA512}"
    size: 73400320
path: "1.2.0/windows-x64/Acme%20Setup%201.2.0.exe"
sha512: "${SHA512}"
releaseDate: "2026-11-03T09:00:00.000Z"
`;

const SHA1 = "DA39A3EE5E6B4B0D3255BFEF95601890AFD80709";
const RELEASES = `${SHA1} Acme-1.2.0-full.nupkg 73400320\n`;

/** Velopack, VelopackAssetFeed. */
const VelopackFeed = z
  .object({
    Assets: z.array(
      z.object({
        PackageId: z.string(),
        Version: z.string(),
        Type: z.enum(["Full", "Delta"]),
        FileName: z.string(),
        SHA1: z.string(),
        SHA256: z.string(),
        Size: z.int(),
        NotesMarkdown: z.string(),
      }),
    ),
  })
  .meta({ id: "VelopackFeed", description: "The response to `releases.win.json` and its variants." });
const VELOPACK = {
  Assets: [
    {
      PackageId: "com.acme.app",
      Version: "1.2.0",
      Type: "Full",
      FileName: "com.acme.app-1.2.0-full.nupkg",
      SHA1,
      SHA256: "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855",
      Size: 73_400_320,
      NotesMarkdown: "",
    },
  ],
};

const updateTo = { name: z.string(), version: z.string(), notes: z.string(), pub_date: z.iso.datetime(), url: z.url() };

/** Electron, "Updating Applications", "Manual publishing". */
const SquirrelStaticFile = z
  .object({
    currentRelease: z.string(),
    releases: z.array(z.object({ version: z.string(), updateTo: z.object(updateTo) })),
  })
  .meta({ id: "SquirrelStaticFile", description: "The response to `RELEASES.json`." });
const RELEASES_JSON = {
  currentRelease: "1.2.0",
  releases: [
    {
      version: "1.2.0",
      updateTo: {
        name: "1.2.0",
        version: "1.2.0",
        notes: "Starts faster.",
        pub_date: "2026-11-03T09:00:00Z",
        url: `${BASE}/1.2.0/macos-universal/Core.zip`,
      },
    },
  ],
};

/** What every path of updaters has. */
const FILE = {
  summary: "Get an updater's feed, or a file of a release",
  database: false,
  query: UpdateQuery,
  errors: DOWNLOAD_ERRORS,
  headers: FILE_REQUEST_HEADERS,
  otherResponses: {
    204: { description: "The feed has no update for the installed version.", schema: null },
    ...FILE_RESPONSES,
  },
} as const;

/** The responses of a path, with the examples of its feeds. */
function fileAt(id: string, params: z.ZodObject, description: string, feeds: Content = {}): DescribedOperation {
  const response = { status: 200, description: "The feed or the file.", schema: null, headers: FILE_HEADERS };
  return { ...FILE, id, params, description, response: { ...response, content: { ...feeds, "*/*": {} } } };
}

const Params = z.object({
  product: z.string().describe("One of the catalog's products."),
  channel: z.string().describe("`stable`, `beta` or another channel of the catalog."),
  file: z.string().describe("The name of a feed or of a file."),
});
const version = z.string().describe("The version of a release.");

const describedAs: Record<string, DescribedOperation> = {
  "GET /api/updates/{product}/{channel}/{file}": fileAt(
    "getUpdate",
    Params,
    "Returns what an unmodified updater requests below its base URL `/api/updates/{product}/{channel}`. electron-updater's generic provider: `latest.yml`, `latest-mac.yml`, `latest-linux.yml`, `latest-linux-arm64.yml`, or the name of another channel in place of `latest`, with the files of all architectures; `latest-arm64.yml` has one architecture. Squirrel.Windows: `RELEASES`. Squirrel.Mac: `RELEASES.json`. Velopack: `releases.win.json`, `releases.linux-arm64.json`, `releases.osx-beta.json`. Sparkle and WinSparkle: `appcast.xml`. Tauri: `latest.json`. Windows' App Installer: `{product}.appinstaller`. winget: `winget.yaml`, or its parts `winget.version.yaml`, `winget.installer.yaml` and `winget.locale.en-US.yaml`. Any other name is that of a release's file.",
    {
      "application/yaml": {
        schema: { type: "string" },
        examples: { "latest.yml": LATEST_YML, "winget.yaml": WINGET_YAML },
      },
      "text/plain": { schema: { type: "string" }, examples: { RELEASES } },
      "application/json": {
        schema: z.union([VelopackFeed, TauriStaticFile, SquirrelStaticFile]),
        examples: { "releases.win.json": VELOPACK, "latest.json": LATEST_JSON, "RELEASES.json": RELEASES_JSON },
      },
      "application/rss+xml": { schema: { type: "string" }, examples: { "appcast.xml": APPCAST } },
      "application/appinstaller": { schema: { type: "string" }, examples: { "core.appinstaller": APP_INSTALLER } },
    },
  ),
  "GET /api/updates/{product}/{channel}/{version}/{file}": fileAt(
    "getFileOfVersion",
    Params.extend({ version }),
    "Returns a file of one version. `latest/{platform}-{architecture}.exe`, or another ending, is the newest one that people install. `{architecture}/appcast.xml`, and `RELEASES`, `RELEASES.json` and `{product}.appinstaller` likewise, are the same as with `arch`. update-electron-app, whose repository is `{product}/{channel}`, requests `darwin-{arch}/{version}` here, with the response that `/api/version` has for `format=squirrel`.",
  ),
  "GET /api/updates/{product}/{channel}/{version}/{target}/{file}": fileAt(
    "getFileOfRelease",
    Params.extend({
      version,
      target: z.string().describe("The platform and architecture of the release: `windows-x64`."),
    }),
    "Returns a file of one release. The URL is permanent: the response can be cached. Feeds name files by this path. Tauri requests `{{target}}/{{arch}}/{{current_version}}` here, with the response that `/api/version` has for `format=tauri`; update-electron-app requests `win32-{arch}/{version}/RELEASES` and its packages, and `win32-{arch}/msix/{version}`.",
  ),
};

export const updateOperations = {
  getUpdate: operation({
    ...FILE,
    id: "getUpdate",
    description: "See each path.",
    writes: "raw",
    params: UpdateParams,
    response: { status: 200, description: "The feed or the file.", schema: null },
    describedAs,
    run: async ({ ctx, request, params, query, caller, log }) => {
      const [stagingId, userAgent] = [request.headers.get("x-user-staging-id"), request.headers.get("user-agent")];
      const recordDownload = request.method === "HEAD" ? () => {} : ctx.adoption.recordDownload;
      const client = { stagingId, userAgent, network: () => caller.ip };
      return contentResponse(await resolveUpdate({ ...ctx, log, recordDownload }, params, query, client), request);
    },
  }),

  reportUpdate: operation({
    id: "reportUpdate",
    summary: "Report how an update went",
    description:
      "Clients may report whether an update was installed, failed or was rolled back. A scheduled rollout halts when too many of the reports are failures. Reports need no account and are not linked to a client; the limits apply to each process.",
    database: false,
    params: ReportParams,
    body: UpdateReport,
    limit: "updateReportByIp",
    errors: ["release_not_found", "catalog_unavailable"],
    examples: {
      Installed: { version: "1.2.0", from: "1.1.0", outcome: "installed", platform: "windows", architecture: "x64" },
      Failed: {
        version: "1.2.0",
        from: "1.1.0",
        outcome: "failed",
        code: "ERR_SIGNATURE",
        platform: "macos",
        architecture: "arm64",
      },
    },
    response: { description: "The report is counted.", schema: null },
    run: ({ ctx, params, body }) => reportUpdate(ctx, params.product, body),
  }),
};
