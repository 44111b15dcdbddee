import { z } from "zod";
import { operation } from "../operation";
import { documentResponse, downloadResponse } from "../platform/http/content/content-response";
import { DOWNLOAD_ERRORS, resolveDownload } from "./download";
import {
  DownloadParams,
  DownloadQuery,
  ReleaseVersion,
  resolveClientId,
  ServiceVersion,
  VersionQuery,
} from "./http-schema";
import { resolveVersion } from "./resolve-version";

const SHA512 = "z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==";

const INSTALLER = "https://api.example.com/api/download/windows?product=core&architecture=x64&version=1.2.0";

const NOTES = "Starts faster, and no longer forgets where its windows were.";

const RELEASED_AT = "2026-11-03T09:00:00.000Z";

const SERVICE = {
  kind: "service",
  name: "homeport",
  version: "1.0.0",
  apiVersion: "1",
  commit: "5284260f0c3d",
  builtAt: "2026-11-19T16:20:00.000Z",
};

const RELEASE = {
  kind: "release",
  platform: "windows",
  product: "core",
  architecture: "x64",
  requestedArchitecture: "x64",
  channel: "stable",
  version: "1.2.0",
  releasedAt: RELEASED_AT,
  notes: NOTES,
  notesUrl: null,
  minimumSupportedVersion: "1.0.0",
  minimumSystemVersion: "10.0.17763",
  requiresFrom: null,
  updateAvailable: true,
  mandatory: false,
  artifact: {
    fileName: "core-1.2.0-x64.exe",
    url: INSTALLER,
    sizeBytes: 73_400_320,
    sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    sha512: SHA512,
    contentType: "application/vnd.microsoft.portable-executable",
  },
};

/** Tauri 2's updater plugin, "Dynamic Update Server". */
const TauriUpdate = z
  .object({
    version: z.string(),
    notes: z.string(),
    pub_date: z.iso.datetime(),
    url: z.url(),
    signature: z.string().describe("A minisign signature file in base64."),
  })
  .meta({ id: "TauriUpdate", description: "The response to `format=tauri`." });

/** Squirrel.Mac, README, "Server Support". */
const SquirrelUpdate = z
  .object({ url: z.url(), name: z.string(), notes: z.string(), pub_date: z.iso.datetime() })
  .meta({ id: "SquirrelUpdate", description: "The response to `format=squirrel`." });

const TAURI = {
  version: "1.2.0",
  notes: NOTES,
  pub_date: RELEASED_AT,
  url: `${INSTALLER}&kind=update`,
  signature: "dW50cnVzdGVkIGNvbW1lbnQ6IHNpZ25hdHVyZSBmcm9tIHRhdXJpIHNlY3JldCBrZXkK",
};

const ELECTRON = `version: "1.2.0"
files:
  - url: "${INSTALLER}&kind=update"
    sha512: "${SHA512}"
    size: 73400320
path: "core-1.2.0-x64.exe"
sha512: "${SHA512}"
releaseDate: "${RELEASED_AT}"
releaseNotes: "${NOTES}"
`;

const SPARKLE = `<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:sparkle="http://www.andymatuschak.org/xml-namespaces/sparkle">
<channel>
<title>core</title>
<item>
<title>1.2.0</title>
<pubDate>Tue, 03 Nov 2026 09:00:00 +0000</pubDate>
<sparkle:version>1.2.0</sparkle:version>
<sparkle:shortVersionString>1.2.0</sparkle:shortVersionString>
<enclosure url="https://api.example.com/api/download/macos?product=core&amp;architecture=universal&amp;version=1.2.0&amp;kind=update" length="73400320" type="application/zip" sparkle:edSignature="4RP0Tq0l4dJMhkWj0GqbDsxHlHuLBKBxJ2qUZgNGqFcQ9yQv1Qb3C9ZcFW3DkU4QUPKc3n0zXHTJgq2VbGkTAA=="/>
</item>
</channel>
</rss>
`;

export const FILE_REQUEST_HEADERS = [
  "Range",
  "IfRange",
  "IfMatch",
  "IfUnmodifiedSince",
  "IfNoneMatch",
  "IfModifiedSince",
  "StagingId",
] as const;
const VALIDATORS = ["ETag", "Last-Modified", "Accept-Ranges"];
export const FILE_HEADERS = [...VALIDATORS, "Content-Disposition", "Repr-Digest"];

/** What a file's path responds in place of the whole file. */
export const FILE_RESPONSES = {
  206: {
    description: "The requested range, or several as `multipart/byteranges`.",
    schema: null,
    headers: [...FILE_HEADERS, "Content-Range"],
    content: { "*/*": {} },
  },
  302: { description: "The file is at the URL in `Location`.", schema: null, headers: ["Location"] },
  304: { description: "The cached copy is current.", schema: null, headers: VALIDATORS },
};

export const downloadOperations = {
  download: operation({
    id: "download",
    summary: "Download an installer or an update",
    description:
      "Returns the newest release, or the one that `version` selects, whose URL is permanent and can be cached. Resume interrupted downloads with `Range` and `If-Range`. A request may have up to 512 ranges. Files that are stored elsewhere are redirected to.",
    headers: FILE_REQUEST_HEADERS,
    database: false,
    writes: "raw",
    params: DownloadParams,
    query: DownloadQuery,
    errors: DOWNLOAD_ERRORS,
    response: {
      status: 200,
      description: "The complete file.",
      schema: null,
      headers: FILE_HEADERS,
      content: { "*/*": {} },
    },
    otherResponses: FILE_RESPONSES,
    run: async ({ ctx: { adoption, catalog, storage }, request, params, query, log }) => {
      const clientId = resolveClientId(query.clientId, request.headers.get("x-user-staging-id"));
      const recordDownload = request.method === "HEAD" ? () => {} : adoption.recordDownload;
      const deps = { catalog, storage, log, recordDownload };
      const content = await resolveDownload(deps, { ...query, ...params, clientId });
      return downloadResponse(content, request);
    },
  }),

  getVersion: operation({
    id: "getVersion",
    summary: "Get the service's version, or the newest release for a platform, product and architecture",
    description:
      "Without parameters, returns the service's version. With `platform`, `product` and `architecture`, which are required together, returns the newest release. `current` adds `updateAvailable` and `mandatory`, which consider every release after `current`. `systemVersion` excludes releases that require a newer system. `format` selects an updater's feed: `electron` (electron-updater), `tauri`, `squirrel` (Squirrel.Mac, requires `current`) or `sparkle` (Sparkle and WinSparkle).",
    headers: ["IfNoneMatch", "StagingId"],
    database: false,
    writes: "raw",
    query: VersionQuery,
    errors: ["release_not_found", "catalog_unavailable"],
    response: {
      description: "The service's version, a release, or a feed.",
      schema: z.union([ServiceVersion, ReleaseVersion]),
      headers: ["ETag"],
      content: {
        "application/json": {
          schema: z.union([ServiceVersion, ReleaseVersion, TauriUpdate, SquirrelUpdate]),
          examples: {
            "The service": SERVICE,
            "The newest release": RELEASE,
            "format=tauri": TAURI,
            "format=squirrel": {
              url: `${INSTALLER.replace("windows", "macos")}&kind=update`,
              name: "1.2.0",
              notes: NOTES,
              pub_date: "2026-11-03T09:00:00Z",
            },
          },
        },
        "application/yaml": { schema: { type: "string" }, examples: { "format=electron": ELECTRON } },
        "application/rss+xml": { schema: { type: "string" }, examples: { "format=sparkle": SPARKLE } },
      },
    },
    otherResponses: {
      204: { description: "`format=tauri` or `format=squirrel`: no release is newer than `current`.", schema: null },
      304: { description: "The cached copy is current.", schema: null, headers: ["ETag"] },
    },
    run: (input) => {
      const { ctx, query, request } = input;
      const clientId = resolveClientId(query.clientId, request.headers.get("x-user-staging-id"));
      const client = { clientId, userAgent: request.headers.get("user-agent"), network: () => input.ip };
      return documentResponse(resolveVersion(ctx, query, client), request);
    },
  }),
};
