import { parse, type SemVer } from "semver";
import { z } from "zod";
import { ProductName } from "../principal";
import { normalizeArchitecture, Platform, SystemVersion } from "./platforms";
import { EdSignature, MinisignSignature, PublicKeys } from "./signatures";

/** People download the `installer`, updaters the `update`. */
export const ArtifactKind = z.enum(["installer", "update"]);
export type ArtifactKind = z.infer<typeof ArtifactKind>;

/** `other`: a further format beside installer and update; `delta`: turns one older version into the release. */
export const FileKind = z.enum([...ArtifactKind.options, "other", "delta"]);
export type FileKind = z.infer<typeof FileKind>;

/** A SemVer 2.0.0 version of at most 256 characters; a leading `v` is removed. */
export const Version = z.string().transform((text, context): SemVer => {
  const version = parse(text.replace(/^V/, "v"));
  if (version) return version;
  context.addIssue({
    code: "invalid_format",
    format: "semver",
    message: /^v?\d+(\.\d+){3}$/i.test(text)
      ? `Must be a SemVer 2.0.0 version: ${text.replace(/\.\d+$/, "")}, with ${text.replace(/^v/i, "")} as the build version (--build-version)`
      : "Must be a SemVer 2.0.0 version",
    input: text,
  });
  return z.NEVER;
});

/** Architectures and channels are named as products are. */
const Name = ProductName;
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

/** Where a stored file is: in the catalog's folder (`file`), at a `url`, or in the object storage (`s3Key`). */
const LOCATION = { file: z.string().min(1).max(1024).optional(), url: HttpUrl.optional(), s3Key: ObjectKey.optional() };
export type StoredFile = { file?: string | undefined; url?: string | undefined; s3Key?: string | undefined };

const hasOneLocation = ({ file, url, s3Key }: StoredFile) =>
  [file, url, s3Key].filter((location) => location !== undefined).length === 1;
const ONE_LOCATION = "Must have exactly one of file, url and s3Key";

const hexadecimal = (digits: RegExp) => z.string().regex(digits).toLowerCase();
const Sha256 = hexadecimal(/^[0-9a-f]{64}$/i);

/** A file that is stored beside an artifact: its block map or its attestation. */
const BesideFile = z
  .strictObject({ ...LOCATION, sizeBytes: z.int().min(1), sha256: Sha256 })
  .refine(hasOneLocation, ONE_LOCATION);
export type BesideFile = z.infer<typeof BesideFile>;

/** The identity of an MSIX package in its manifest ("Identity"). App Installer rejects a package with another one. */
export const PackageIdentity = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9.-]{3,50}$/, "Must have 3 to 50 letters, digits, periods and dashes"),
  /** The subject of the signing certificate, such as `CN=Example`. */
  publisher: z.string().min(1).max(8192),
  version: z.string().regex(/^\d{1,5}(\.\d{1,5}){3}$/, "Must be four numbers separated by dots"),
  /** null for a bundle, which has several. */
  architecture: z.enum(["x86", "x64", "arm", "arm64", "neutral"]).nullable(),
});
export type PackageIdentity = z.infer<typeof PackageIdentity>;

const ARTIFACT = {
  ...LOCATION,
  /** The suggested file name of the download. */
  fileName: z
    .string()
    .min(1)
    .max(255)
    .regex(/^[^/\\\p{Cc}\p{Cs}]+$/u, "Must be a file name"),
  sizeBytes: z.int().min(1),
  sha256: Sha256,
  /** Hexadecimal. Needed for the packages of Velopack and Squirrel.Windows. */
  sha1: hexadecimal(/^[0-9a-f]{40}$/i).optional(),
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
  /** The hashes of its blocks, gzip as electron-builder writes it. Served as `{fileName}.blockmap`. */
  blockMap: BesideFile.optional(),
  /** The size of the block map that electron-builder appends to an AppImage, without the four bytes of its length. */
  embeddedBlockMapBytes: z.int().min(1).optional(),
  /** Of an .msix or .msixbundle. */
  packageIdentity: PackageIdentity.optional(),
  /** A Sigstore bundle. Served as `{fileName}.sigstore.json`. */
  attestation: BesideFile.optional(),
};

export const Artifact = z.strictObject(ARTIFACT).refine(hasOneLocation, ONE_LOCATION);
export type Artifact = z.infer<typeof Artifact>;

/** A file that turns the version `from` into the release: a Sparkle .delta, or a -delta.nupkg. */
export const Delta = z.strictObject({ ...ARTIFACT, from: Version }).refine(hasOneLocation, ONE_LOCATION);
export type Delta = z.infer<typeof Delta>;

const Artifacts = z
  .strictObject({
    installer: Artifact.optional(),
    update: Artifact.optional(),
    /** Further files side by side: an MSI beside an NSIS installer, a .deb beside an AppImage. */
    others: z.array(Artifact).default([]),
    deltas: z.array(Delta).default([]),
  })
  .superRefine(({ installer, update, others, deltas }, context) => {
    const names = new Set([installer?.fileName, update?.fileName]);
    for (const { fileName } of [...others, ...deltas]) {
      if (names.has(fileName)) context.addIssue({ code: "custom", message: `Two files have the name ${fileName}` });
      names.add(fileName);
    }
  });

const MAX_SIGNED_DOCUMENT_LENGTH = 512 * 1024;
const SignedDocument = z.string().min(1).max(MAX_SIGNED_DOCUMENT_LENGTH);

/** A `latest.yml`. Its hash covers what electron-builder does not sign, such as the notes. */
const SignedManifest = z.strictObject({ text: SignedDocument, sha256: Sha256 });
export type SignedManifest = z.infer<typeof SignedManifest>;

/**
 * The documents that the publisher signed, whole and unchanged, by the updater that reads them. null: one that must not be
 * served, so that the release is not offered to the updater.
 */
const SignedDocuments = z.strictObject({
  /** `latest.yml` and its siblings, which all builds of one platform may have in common. */
  electron: SignedManifest.nullish(),
  /** An appcast. */
  sparkle: SignedDocument.nullish(),
});
export type SignedDocuments = z.infer<typeof SignedDocuments>;

/** The updaters that read signed documents, for people. */
export const UPDATER_NAMES = { electron: "electron-updater", sparkle: "Sparkle" } as const;
export const SignedUpdater = z.enum(["electron", "sparkle"]);
export type SignedUpdater = z.infer<typeof SignedUpdater>;

/** Who published a release. `source`: what a CI job built. */
export const PublishedBy = z.strictObject({
  type: z.enum(["publisher", "operator", "key"]),
  id: z.string().max(128).nullable(),
  name: z.string().max(256),
  source: z
    .strictObject({
      repository: z.string().max(512),
      commit: z.string().max(64),
      ref: z.string().max(1024),
      runUrl: z
        .url({ protocol: /^https?$/ })
        .max(1024)
        .nullable(),
    })
    .nullable()
    .default(null),
});
export type PublishedBy = z.infer<typeof PublishedBy>;

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
  /** Clients below this version are offered an older release first. */
  requiresFrom: Version.nullable().default(null),
  /** CFBundleVersion, which Sparkle compares. Needed if it differs from `version`: Sparkle does not read past a dash. */
  buildVersion: SystemVersion.nullable().default(null),
  /** A mandatory update for every older version. */
  critical: z.boolean().default(false),
  /** The percentage of clients that receive the release, in tenths. */
  rollout: z.number().min(0).max(100).multipleOf(0.1).default(100),
  /** Releases of one series reach the same clients first. By default, each selects its clients independently. */
  rolloutSeries: z.string().min(1).max(128).nullable().default(null),
  /** Sparkle's phased rollout, which the appcast names only while `rollout` is 100. */
  phasedRolloutIntervalSeconds: z.int().min(1).nullable().default(null),
  /** Also offered to clients whose newer version is yanked or paused. */
  rollback: z.boolean().default(false),
  /** Yanked: no longer served. */
  yanked: z.boolean().default(false),
  /** Part of the sample catalog: not served once there is a real release, and never an update for one. */
  sample: z.boolean().default(false),
  artifacts: Artifacts,
  signedDocuments: SignedDocuments.default({}),
  publishedBy: PublishedBy.nullable().default(null),
});
export type Release = z.infer<typeof Release>;

/** The manifest. Its releases are parsed one by one. */
export const ManifestDocument = z.strictObject({
  schemaVersion: z.literal(1),
  /** By product. */
  publicKeys: z.record(Name, PublicKeys).optional(),
  releases: z.array(z.unknown()),
});

/** Formats a version with its build metadata (SemVer 2.0.0, item 10). */
export function formatVersion({ version, build }: SemVer): string {
  return build.length > 0 ? `${version}+${build.join(".")}` : version;
}
