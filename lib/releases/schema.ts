import { parse, type SemVer } from "semver";
import { z } from "zod";
import { EdSignature, MinisignSignature, PublicKeys } from "./signatures";
import { SystemVersion } from "./system-version";

export const Platform = z.enum(["windows", "macos"]);
export type Platform = z.infer<typeof Platform>;

/** People download the `installer`, updaters the `update`. */
export const ArtifactKind = z.enum(["installer", "update"]);
export type ArtifactKind = z.infer<typeof ArtifactKind>;

/** Aliases that compilers, Node.js and Tauri use. */
const ARCHITECTURE_ALIASES: ReadonlyMap<string, string> = new Map([
  ["x86_64", "x64"],
  ["amd64", "x64"],
  ["aarch64", "arm64"],
  ["x86", "ia32"],
  ["i386", "ia32"],
  ["i686", "ia32"],
]);

/** Maps an architecture's name or alias to the canonical name, case-insensitively: `X86_64` becomes `x64`. */
export function normalizeArchitecture(name: string): string {
  return ARCHITECTURE_ALIASES.get(name.toLowerCase()) ?? name.toLowerCase();
}

/** A SemVer 2.0.0 version of at most 256 characters; a leading `v` is removed. */
const Version = z.string().transform((text, context): SemVer => {
  const version = parse(text.replace(/^V/, "v"));
  if (version) return version;
  context.addIssue({
    code: "invalid_format",
    format: "semver",
    message: "Must be a SemVer 2.0.0 version",
    input: text,
  });
  return z.NEVER;
});

/** A version in a query, where an unescaped `+` before build metadata arrives as a space. */
const QueriedVersion = z
  .string()
  .transform((text) => text.replaceAll(" ", "+"))
  .pipe(Version);

/** The installed version. Also accepts one to four numbers as Apple and Windows use them: `1.4`, `1.4.2.7`. */
const InstalledVersion = z
  .string()
  .transform((text) => text.trim().replace(/^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:\.(\d+))?$/i, toSemVer))
  .pipe(QueriedVersion);

function toSemVer(_: string, major: string, minor = "0", patch = "0", build?: string): string {
  const numbers = [major, minor, patch].map((digits) => digits.replace(/^0+(?=\d)/, "")).join(".");
  return build === undefined ? numbers : `${numbers}+${build}`;
}

const Name = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "Must be a lower-case name of at most 64 characters");
const HttpUrl = z.url({ protocol: /^https?$/ }).transform((url) => new URL(url).href);
const Instant = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text))
  .pipe(z.date());

/** An object's key. Segments that are empty, `.` or `..` are rejected, since URLs cannot hold them. */
const ObjectKey = z
  .string()
  .regex(/^[^\p{Cc}\p{Cs}]+$/u, "Must be an object key")
  .refine((key) => Buffer.byteLength(key) <= 1024, "Must have at most 1024 bytes")
  .refine(
    (key) => !key.split("/").some((segment) => ["", ".", ".."].includes(segment)),
    "Must not have a segment that is empty, . or ..",
  );

/** One file of a release: in the catalog's folder (`file`), at a `url`, or in the object storage (`s3Key`). */
export const Artifact = z
  .strictObject({
    file: z.string().min(1).max(1024).optional(),
    url: HttpUrl.optional(),
    s3Key: ObjectKey.optional(),
    /** The suggested file name of the download. */
    fileName: z
      .string()
      .min(1)
      .max(255)
      .regex(/^[^/\\\p{Cc}\p{Cs}]+$/u, "Must be a file name"),
    sizeBytes: z.int().min(1),
    /** Hexadecimal. */
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/i)
      .toLowerCase(),
    /** Base64. */
    sha512: z.string().regex(/^[A-Za-z0-9+/]{86}==$/),
    contentType: z
      .string()
      .max(255)
      .regex(/^[\w.+-]+\/[\w.+-]+( *; *[\w.+-]+=[\w.+-]+)*$/, "Must be a media type")
      .default("application/octet-stream"),
    /** Read by Tauri. */
    minisign: MinisignSignature.optional(),
    /** Read by Sparkle and WinSparkle. */
    edSignature: EdSignature.optional(),
  })
  .refine(
    ({ file, url, s3Key }) => [file, url, s3Key].filter((location) => location !== undefined).length === 1,
    "Must have exactly one of file, url and s3Key",
  );
export type Artifact = z.infer<typeof Artifact>;

/** One release of the catalog's manifest. */
export const Release = z.strictObject({
  id: z.string().min(1).max(128),
  platform: Platform,
  product: Name,
  architecture: Name.transform(normalizeArchitecture),
  channel: Name.default("stable"),
  version: Version,
  releasedAt: Instant,
  /** Markdown. Lone surrogates are replaced: strict JSON parsers reject them. */
  notes: z
    .string()
    .default("")
    .transform((text) => text.toWellFormed()),
  notesUrl: HttpUrl.nullable().default(null),
  minimumSupportedVersion: Version.nullable().default(null),
  minimumSystemVersion: SystemVersion.nullable().default(null),
  /** CFBundleVersion, which Sparkle compares. Needed if it differs from `version`: Sparkle does not read past a dash. */
  buildVersion: SystemVersion.nullable().default(null),
  /** A mandatory update for every older version. */
  critical: z.boolean().default(false),
  /** The percentage of clients that receive the release. */
  rollout: z.int().min(0).max(100).default(100),
  /** Sparkle's phased rollout, which the appcast names only while `rollout` is 100. */
  phasedRolloutIntervalSeconds: z.int().min(1).nullable().default(null),
  /** Also offered to clients with a newer version. */
  rollback: z.boolean().default(false),
  /** Withdrawn: no longer served. */
  yanked: z.boolean().default(false),
  /** Part of the sample catalog: not served once there is a real release, and never an update for one. */
  sample: z.boolean().default(false),
  artifacts: z.strictObject({ installer: Artifact.optional(), update: Artifact.optional() }),
});
export type Release = z.infer<typeof Release>;

/** The manifest. Its releases are parsed one by one. */
export const ManifestDocument = z.strictObject({
  schemaVersion: z.literal(1),
  /** By product. */
  publicKeys: z.record(Name, PublicKeys).optional(),
  releases: z.array(z.unknown()),
});

const selector = (description: string, ...examples: string[]) => z.string().optional().meta({ description, examples });
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
export const ClientId = z.string().min(1, "Must not be empty").max(128, "Must have at most 128 characters");
const clientId = ClientId.optional().describe(
  "The client's id for staged rollouts: any text that stays the same for an installation.",
);

/** `version` is an alias of `current`, the installed version. */
export const VersionQuery = z.object({
  platform: selector("Case-insensitive. Aliases such as `win32` and `darwin` are accepted.", "windows", "macos"),
  ...Selection,
  current: InstalledVersion.optional().describe(
    "The installed version: SemVer 2.0.0, or one to four numbers separated by dots.",
  ),
  version: InstalledVersion.optional().describe("An alias of `current`."),
  systemVersion: SystemVersion.optional().describe(
    "The client's version of macOS (`14.6.1`) or Windows (`10.0.22631`). Only releases that run on it are offered.",
  ),
  format: selector("The update feed to return.", "electron", "tauri", "squirrel", "sparkle"),
  clientId,
});
export type VersionQuery = z.infer<typeof VersionQuery>;

export const DownloadParams = z.object({
  platform: z.string().meta({
    description: "Case-insensitive. Aliases such as `win32` and `darwin` are accepted.",
    examples: ["windows", "macos"],
  }),
});

export const DownloadQuery = z.object({
  ...Selection,
  version: QueriedVersion.optional().describe("The release to download. The newest one by default."),
  clientId,
  kind: ArtifactKind.default("installer").describe("`installer` for people, `update` for updaters."),
});
export type DownloadQuery = z.infer<typeof DownloadQuery>;

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
  minimumSupportedVersion: z
    .string()
    .nullable()
    .describe("The highest minimum of this release and all releases before it."),
  minimumSystemVersion: z.string().nullable(),
  updateAvailable: z.boolean().nullable().describe("null if `current` is omitted."),
  mandatory: z
    .boolean()
    .nullable()
    .describe("Whether the client must install the update. null if `current` is omitted."),
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

/** Formats a version with its build metadata (SemVer 2.0.0, item 10). */
export function formatVersion({ version, build }: SemVer): string {
  return build.length > 0 ? `${version}+${build.join(".")}` : version;
}
