import type { SemVer } from "semver";
import { z } from "zod";
import { AppError } from "../errors";
import { Platform, SystemVersion } from "./platforms";
import { ArtifactKind, Version } from "./schema";
import { NOT_A_VERSION, parseInstalledVersion } from "./selection/installed-version";

/** A version in a query, where an unescaped `+` before build metadata arrives as a space. */
const QueriedVersion = z
  .string()
  .transform((text) => text.replaceAll(" ", "+"))
  .pipe(Version);

/** The installed version. Also accepts one to four numbers as Apple and Windows use them: `1.4`, `1.4.2.7`. */
export const InstalledVersion = z.string().transform((text, context): SemVer => {
  const installed = parseInstalledVersion(text);
  if (installed) return installed.version;
  context.addIssue({ code: "invalid_format", format: "semver", message: NOT_A_VERSION, input: text });
  return z.NEVER;
});

const text = (maxLength: number, description: string) => z.string().max(maxLength).optional().describe(description);
const selector = (description: string, ...examples: string[]) => z.string().optional().meta({ description, examples });
const PLATFORM = "Case-insensitive. Aliases such as `win32` and `darwin` are accepted.";
const Selection = {
  product: selector("One of the catalog's products.", "core", "ops"),
  architecture: selector("Case-insensitive. Aliases of compilers, Node.js and Tauri are accepted.", "x64", "universal"),
  channel: selector(
    "`stable` by default. Clients of other channels also receive newer stable releases.",
    "stable",
    "beta",
  ),
};

/** The client's id for staged rollouts: any stable text of at most 128 characters, one per installation. */
const ClientId = z.string().min(1, "Must not be empty").max(128, "Must have at most 128 characters");
const clientId = ClientId.optional().describe(
  "The client's id for staged rollouts: any text that stays the same for an installation.",
);

export const VersionQuery = z.object({
  platform: selector(PLATFORM, "windows", "macos"),
  ...Selection,
  current: text(
    256,
    "The installed version: SemVer 2.0.0, or one to four numbers separated by dots. With `format=sparkle` also a build version; one that cannot be compared is ignored.",
  ),
  version: text(256, "An alias of `current`."),
  appVersion: text(256, "An alias of `current`, sent with Sparkle's system profile."),
  systemVersion: SystemVersion.optional().describe(
    "The client's version of macOS (`14.6.1`) or Windows (`10.0.22631`). Only releases that run on it are offered.",
  ),
  osVersion: text(64, "An alias of `systemVersion`, sent with Sparkle's system profile. Ignored if it is not one."),
  bundleType: selector(
    "What the app was installed from, as Tauri's `{{bundle_type}}` says. Required on Linux with `format=tauri` and `format=electron`.",
    "appimage",
    "deb",
    "rpm",
    "nsis",
    "msi",
  ),
  format: selector("The update feed to return.", "electron", "tauri", "squirrel", "sparkle"),
  clientId,
});
export type VersionQuery = z.infer<typeof VersionQuery>;

export const DownloadParams = z.object({
  platform: z.string().meta({ description: PLATFORM, examples: ["windows", "macos"] }),
});

export const DownloadQuery = z.object({
  ...Selection,
  version: QueriedVersion.optional().describe("The release to download. The newest one by default."),
  clientId,
  kind: ArtifactKind.optional().describe(
    "`installer` for people, the default; `update` for updaters. On Linux the default is the AppImage, if there is one.",
  ),
  format: selector("The type of file, case-insensitive.", "appimage", "deb", "rpm", "tar", "exe", "msi", "dmg", "zip"),
  file: text(255, "The name of one file of the release. Requires `version`."),
});
export type DownloadQuery = z.infer<typeof DownloadQuery>;

/** A segment of a path. Without slashes, which may arrive percent-encoded. */
const Segment = z.string().regex(/^[^/\\\p{Cc}\p{Cs}]{1,255}$/u);
const UpdateTarget = {
  product: Segment.toLowerCase().describe("One of the catalog's products."),
  channel: Segment.toLowerCase().describe("`stable`, `beta` or another channel of the catalog."),
};

export const UpdateParams = z.object({ ...UpdateTarget, file: z.array(Segment).min(1).max(8) });
export type UpdateParams = z.infer<typeof UpdateParams>;

const wingetText = (minLength: number, description: string) =>
  z.string().min(minLength).max(256).optional().describe(`For \`winget.yaml\`: ${description}`);

/** What a winget manifest has besides the catalog (microsoft/winget-cli, schemas/JSON/manifests/v1.12.0). */
const WINGET_PACKAGE = {
  packageIdentifier: z
    .string()
    .regex(/^[^.\s\\/:*?"<>|\p{Cc}]{1,32}(\.[^.\s\\/:*?"<>|\p{Cc}]{1,32}){1,7}$/u, "Must be Publisher.Package")
    .max(128)
    .optional()
    .describe("For `winget.yaml`: the package's identifier, such as `Example.Core`."),
  publisher: wingetText(2, "the publisher's name."),
  packageName: wingetText(2, "the name of the app. By default the product."),
  license: wingetText(3, "the license."),
  shortDescription: wingetText(3, "a description in one sentence."),
  installerType: z
    .enum(["nullsoft", "inno", "wix", "burn", "exe", "portable"])
    .optional()
    .describe(
      "For `winget.yaml`: what made the .exe. By default `nullsoft` (NSIS), as for electron-builder and Tauri.",
    ),
};

/** What updaters add to the URL of a feed. `localVersion` is an alias of `current`, and `stagingId` of `clientId`. */
export const UpdateQuery = z.object({
  current: InstalledVersion.optional().describe("The installed version."),
  localVersion: InstalledVersion.optional().describe("An alias of `current`, sent by Squirrel.Windows and Velopack."),
  systemVersion: SystemVersion.optional().describe("The client's version of macOS or Windows."),
  clientId,
  stagingId: clientId.describe("An alias of `clientId`, sent by Velopack."),
  arch: text(
    64,
    "The client's architecture, sent by Squirrel.Windows and Velopack. For `appcast.xml`, `.appinstaller` and `winget.yaml`: the build, if the product has several.",
  ),
  os: text(64, "The client's system, sent by Velopack: `win`, `osx` or `linux`."),
  rid: text(64, "The client's .NET runtime identifier, sent by Velopack: `win-x64`."),
  id: text(255, "The package's id, sent by Squirrel.Windows and Velopack."),
  bundleType: text(64, "What the app was installed from, as Tauri's `{{bundle_type}}` says."),
  ...WINGET_PACKAGE,
});
export type UpdateQuery = z.infer<typeof UpdateQuery>;

const nullableText = z.string().nullable();
const nullableFlag = z.boolean().nullable();

export const ServiceVersion = z.object({
  kind: z.literal("service"),
  name: z.string(),
  version: z.string(),
  apiVersion: z.literal("1"),
  commit: z.string().nullable(),
  builtAt: z.string().nullable(),
});

export const ReleaseVersion = z.object({
  kind: z.literal("release"),
  platform: Platform,
  product: z.string(),
  architecture: z.string().describe("The architecture of the returned release."),
  requestedArchitecture: z.string(),
  channel: z.string().describe("The channel of the returned release."),
  version: z.string(),
  releasedAt: z.date(),
  notes: z.string().describe("Markdown."),
  notesUrl: z.string().nullable(),
  minimumSupportedVersion: nullableText.describe("The highest minimum of this release and all releases before it."),
  minimumSystemVersion: z.string().nullable(),
  requiresFrom: z.string().nullable().describe("Clients below this version cannot install the release."),
  updateAvailable: nullableFlag.describe("null if `current` is omitted."),
  mandatory: nullableFlag.describe("Whether the client must install the update. null if `current` is omitted."),
  artifact: z.object({
    fileName: z.string(),
    url: z.string(),
    sizeBytes: z.int(),
    sha256: z.string().describe("Hexadecimal."),
    sha512: z.string().describe("Base64."),
    contentType: z.string(),
  }),
});
export type ReleaseVersion = z.infer<typeof ReleaseVersion>;

/**
 * The client's id: `clientId=`, else X-User-Staging-Id of electron-updater.
 * @throws AppError invalid_query if the header is too long
 */
export function resolveClientId(queried: string | undefined, stagingId: string | null): string | undefined {
  const clientId = queried ?? (stagingId || undefined);
  if (clientId === undefined || ClientId.safeParse(clientId).success) return clientId;
  throw new AppError("invalid_query", { detail: "X-User-Staging-Id must have at most 128 characters." });
}
