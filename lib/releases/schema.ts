import { parse, type SemVer } from "semver";
import { z } from "zod";
import { EdSignature, MinisignSignature, PublicKeys } from "./signatures";
import { SystemVersion } from "./system-version";

export const Platform = z.enum(["windows", "macos"]);
export type Platform = z.infer<typeof Platform>;

/** `installer` is for people, `update` for updaters. */
export const Kind = z.enum(["installer", "update"]);
export type Kind = z.infer<typeof Kind>;

/** Other names of architectures, as compilers, Node.js and Tauri have them. */
const ARCHITECTURES: ReadonlyMap<string, string> = new Map([
  ["x86_64", "x64"],
  ["amd64", "x64"],
  ["aarch64", "arm64"],
  ["x86", "ia32"],
  ["i386", "ia32"],
  ["i686", "ia32"],
]);

/** The one name of an architecture, in any case and by any alias: `X86_64` is `x64`. */
export function normalizeArchitecture(name: string): string {
  return ARCHITECTURES.get(name.toLowerCase()) ?? name.toLowerCase();
}

/** A SemVer 2.0.0 version; a leading `v` is taken away. At most 256 characters. */
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

/** The same in a query, where a bare `+` before build metadata has become a blank. */
const QueriedVersion = z
  .string()
  .transform((text) => text.replaceAll(" ", "+"))
  .pipe(Version);

/** The caller's own: what Apple and Windows have for versions (`1.4`, `1.4.2.7`) is taken too, and never refused. */
const InstalledVersion = z
  .string()
  .transform((text) => text.trim().replace(/^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:\.(\d+))?$/i, toSemVer))
  .pipe(QueriedVersion);

function toSemVer(_: string, major: string, minor = "0", patch = "0", build?: string): string {
  const numbers = [major, minor, patch].map((digits) => digits.replace(/^0+(?=\d)/, "")).join(".");
  return build === undefined ? numbers : `${numbers}+${build}`;
}

const Name = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "Must be a short lower-case name");
const HttpUrl = z.url({ protocol: /^https?$/ }).transform((url) => new URL(url).href);
const Instant = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text))
  .pipe(z.date());

/** An object's key: parts between slashes, none of them empty, `.` or `..`, which no address can hold. */
const ObjectKey = z
  .string()
  .regex(/^[^\p{Cc}\p{Cs}]+$/u, "Must be an object's key")
  .refine((key) => Buffer.byteLength(key) <= 1024, "Must have at most 1024 bytes")
  .refine((key) => !key.split("/").some((part) => ["", ".", ".."].includes(part)), "Must have no empty, . or .. part");

/** One file of a release: in the catalog's folder (`file`, relative to it), elsewhere (`url`) or in the object storage. */
export const Artifact = z
  .strictObject({
    file: z.string().min(1).max(1024).optional(),
    url: HttpUrl.optional(),
    s3Key: ObjectKey.optional(),
    /** What the download is called on the caller's disk. */
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
    /** For Tauri. */
    minisign: MinisignSignature.optional(),
    /** For Sparkle and WinSparkle. */
    edSignature: EdSignature.optional(),
  })
  .refine(
    ({ file, url, s3Key }) => [file, url, s3Key].filter((place) => place !== undefined).length === 1,
    "Needs exactly one of file, url and s3Key",
  );
export type Artifact = z.infer<typeof Artifact>;

/** One release as the catalog's manifest has it. */
export const Release = z.strictObject({
  id: z.string().min(1).max(128),
  platform: Platform,
  product: Name,
  architecture: Name.transform(normalizeArchitecture),
  channel: Name.default("stable"),
  version: Version,
  releasedAt: Instant,
  /** Markdown. Half a surrogate pair would make a feed that strict JSON parsers refuse. */
  notes: z
    .string()
    .default("")
    .transform((text) => text.toWellFormed()),
  notesUrl: HttpUrl.nullable().default(null),
  minimumSupportedVersion: Version.nullable().default(null),
  minimumSystemVersion: SystemVersion.nullable().default(null),
  /** What Sparkle compares (CFBundleVersion), where it is not `version`: it does not read past a dash. */
  buildVersion: SystemVersion.nullable().default(null),
  /** An update that nobody may put off. */
  critical: z.boolean().default(false),
  /** Per cent of the callers that get it. */
  rollout: z.int().min(0).max(100).default(100),
  /** Sparkle's own phased rollout, told where the release is rolled out to everybody here. */
  phasedRolloutIntervalSeconds: z.int().min(1).nullable().default(null),
  /** Offered to callers with a newer version too. */
  rollback: z.boolean().default(false),
  /** Withdrawn: never served again. */
  yanked: z.boolean().default(false),
  /** Part of the sample catalog: never served beside a release that is not, and no update for one. */
  sample: z.boolean().default(false),
  artifacts: z.strictObject({ installer: Artifact.optional(), update: Artifact.optional() }),
});
export type Release = z.infer<typeof Release>;

/** The manifest around its releases, which are checked one by one. */
export const Manifest = z.strictObject({
  schemaVersion: z.literal(1),
  /** By product. */
  publicKeys: z.record(Name, PublicKeys).optional(),
  releases: z.array(z.unknown()),
});

const selector = (description: string, ...examples: string[]) => z.string().optional().meta({ description, examples });
const Selection = {
  product: selector("One of the catalog's products.", "core", "ops"),
  architecture: selector("In any case, by any name that compilers, Node.js and Tauri have for it.", "x64", "universal"),
  channel: selector(
    "`stable` where none is named. Another channel's clients also get what is stable and newer.",
    "stable",
    "beta",
  ),
};

/** Who asks, for rollouts: any text that stays the same for an installation. At most 128 characters. */
export const ClientId = z.string().min(1, "Must not be empty").max(128, "Must have at most 128 characters");
const clientId = ClientId.optional().describe(
  "Who asks, for rollouts: any text that stays the same for an installation.",
);

/** `version` is another name for `current`, the caller's own version. */
export const VersionQuery = z.object({
  platform: selector("In any case; `win32`, `darwin` and their like are known.", "windows", "macos"),
  ...Selection,
  current: InstalledVersion.optional().describe(
    "The caller's own version: SemVer 2.0.0, or one to four numbers between dots.",
  ),
  version: InstalledVersion.optional().describe("Another name of `current`."),
  systemVersion: SystemVersion.optional().describe(
    "The version of the caller's macOS (`14.6.1`) or Windows (`10.0.22631`): nothing is offered that does not run there.",
  ),
  format: selector("An updater's feed.", "electron", "tauri", "squirrel", "sparkle"),
  clientId,
});
export type VersionQuery = z.infer<typeof VersionQuery>;

export const DownloadParams = z.object({
  platform: z
    .string()
    .meta({ description: "In any case; `win32`, `darwin` and their like are known.", examples: ["windows", "macos"] }),
});

/** `version` pins the download to one release. */
export const DownloadQuery = z.object({
  ...Selection,
  version: QueriedVersion.optional().describe("Pins the download to one release."),
  clientId,
  kind: Kind.default("installer").describe("`installer` is for people, `update` for updaters."),
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
  architecture: z.string().describe("Of what is served."),
  requestedArchitecture: z.string(),
  channel: z.string().describe("Of what is served."),
  version: z.string(),
  releasedAt: z.date(),
  notes: z.string().describe("Markdown."),
  notesUrl: z.string().nullable(),
  minimumSupportedVersion: z.string().nullable().describe("By this release or any before it."),
  minimumSystemVersion: z.string().nullable(),
  updateAvailable: z.boolean().nullable().describe("null without `current`."),
  mandatory: z.boolean().nullable().describe("Whether the update may not be put off. null without `current`."),
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

/** A version as text, build metadata included (SemVer 2.0.0, item 10). */
export function formatVersion({ version, build }: SemVer): string {
  return build.length > 0 ? `${version}+${build.join(".")}` : version;
}
