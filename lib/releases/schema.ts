import { parse, type SemVer } from "semver";
import { z } from "zod";

export const Platform = z.enum(["windows", "macos"]);
export type Platform = z.infer<typeof Platform>;

/** `installer` is for people, `update` for updaters. */
export const Kind = z.enum(["installer", "update"]);
export type Kind = z.infer<typeof Kind>;

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

const Name = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "Must be a short lower-case name");
const HttpUrl = z.url({ protocol: /^https?$/ }).transform((url) => new URL(url).href);
const Instant = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text))
  .pipe(z.date());

/** One file of a release: in the catalog's folder (`file`, relative to it) or elsewhere (`url`). */
export const Artifact = z
  .object({
    file: z.string().min(1).max(1024).optional(),
    url: HttpUrl.optional(),
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
  })
  .refine(({ file, url }) => (file === undefined) !== (url === undefined), "Needs either file or url");
export type Artifact = z.infer<typeof Artifact>;

/** One release as the catalog's manifest has it. */
export const Release = z.object({
  id: z.string().min(1).max(128),
  platform: Platform,
  product: Name,
  architecture: Name,
  channel: Name.default("stable"),
  version: Version,
  releasedAt: Instant,
  /** Markdown. */
  notes: z.string().default(""),
  notesUrl: HttpUrl.nullable().default(null),
  minimumSupportedVersion: Version.nullable().default(null),
  minimumSystemVersion: z.string().min(1).max(64).nullable().default(null),
  /** An update that nobody may put off. */
  critical: z.boolean().default(false),
  /** Per cent of the callers that get it. */
  rollout: z.int().min(0).max(100).default(100),
  /** Offered to callers with a newer version too. */
  rollback: z.boolean().default(false),
  /** Withdrawn: never served again. */
  yanked: z.boolean().default(false),
  artifacts: z.object({ installer: Artifact.optional(), update: Artifact.optional() }),
});
export type Release = z.infer<typeof Release>;

/** The manifest around its releases, which are checked one by one. */
export const Manifest = z.object({ schemaVersion: z.literal(1), releases: z.array(z.unknown()) });

const selector = z.string().optional();

/** `version` is another name for `current`, the caller's own version. */
export const VersionQuery = z.object({
  platform: selector,
  product: selector,
  architecture: selector,
  channel: selector,
  current: Version.optional(),
  version: Version.optional(),
});
export type VersionQuery = z.infer<typeof VersionQuery>;

export const DownloadParams = z.object({ platform: z.string() });

/** `version` pins the download to one release. */
export const DownloadQuery = z.object({
  product: selector,
  architecture: selector,
  channel: selector,
  version: Version.optional(),
  kind: Kind.default("installer"),
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

/** `architecture` and `channel` are those of what is served. Without `current` the last two answers are null. */
export const ReleaseVersion = z.object({
  kind: z.literal("release"),
  platform: Platform,
  product: z.string(),
  architecture: z.string(),
  requestedArchitecture: z.string(),
  channel: z.string(),
  version: z.string(),
  releasedAt: z.date(),
  notes: z.string(),
  notesUrl: z.string().nullable(),
  minimumSupportedVersion: z.string().nullable(),
  minimumSystemVersion: z.string().nullable(),
  updateAvailable: z.boolean().nullable(),
  mandatory: z.boolean().nullable(),
  artifact: z.object({
    fileName: z.string(),
    url: z.string(),
    sizeBytes: z.int(),
    sha256: z.string(),
    sha512: z.string(),
    contentType: z.string(),
  }),
});
export type ReleaseVersion = z.infer<typeof ReleaseVersion>;

/** A version as text, build metadata included (SemVer 2.0.0, item 10). */
export function versionText({ version, build }: SemVer): string {
  return build.length > 0 ? `${version}+${build.join(".")}` : version;
}
