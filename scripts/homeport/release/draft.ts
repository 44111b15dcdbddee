import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Destination, DraftFile, ReleaseDraft } from "../../../lib/releases/publishing/draft";
import { FileKind } from "../../../lib/releases/schema";
import { ManifestPublicKeys } from "../../../lib/releases/signatures";
import { UsageError } from "../../command-line";
import { parseInteger, parsePercentage, resolveFromCaller, type Values } from "./options";

export const TARGET_OPTIONS = {
  product: { value: "name", help: "the product (required)" },
  platform: { value: "platform", help: "windows, macos or linux (required)" },
  arch: { value: "arch", help: "the architecture (required)" },
  version: { value: "version", help: "the version (required)" },
  channel: { value: "name", help: "the channel (default: stable)" },
} as const;
export const FIELD_OPTIONS = {
  notes: { value: "text|file", help: "release notes in Markdown" },
  "notes-url": { value: "url", help: "a page with the release notes" },
  "minimum-supported": { value: "version", help: "clients with older versions must update" },
  "minimum-system": { value: "version", help: "the oldest system that the release runs on, such as 12.0" },
  "requires-from": { value: "version", help: "clients with older versions are offered an older release first" },
  "build-version": { value: "number", help: "the version that Sparkle compares, if it differs" },
  "phased-rollout-interval": { value: "seconds", help: "Sparkle's phased rollout" },
  "released-at": { value: "time", help: "when it was released (default: now)" },
  rollout: { value: "percent", help: "percentage of clients that receive the release (default: 100)" },
  "rollout-series": { value: "name", help: "releases of one series are rolled out to the same clients first" },
  critical: { help: "all clients with older versions must update", isNegatable: true },
  rollback: { help: "also offer it to clients whose newer version is yanked or paused", isNegatable: true },
} as const;
/** Options that say where files are served from. */
export const DESTINATION_OPTIONS = {
  s3: { help: "upload to the object storage" },
  url: { value: "url", help: "the file is already available at this URL" },
} as const;
/** Options that confirm what looks like a mistake, and set the product's keys. */
export const CHECK_OPTIONS = {
  "minisign-key": { value: "file", help: "the product's public key for Tauri (.pub); the catalog keeps it" },
  "ed-key": {
    value: "key",
    help: "the product's public key for Sparkle; the catalog keeps it; repeat it during a rotation",
    isRepeatable: true,
  },
  "manifest-key": {
    value: "file",
    help: "the product's public key for electron-builder's manifests; the catalog keeps it; repeat it during a rotation",
    isRepeatable: true,
  },
  new: { help: "this adds a new product, architecture, channel or key" },
  prerelease: { help: "this publishes a prerelease on the stable channel" },
  unsigned: { help: "this has no signed document, although apps may require one" },
} as const;

export const ADD_OPTIONS = {
  ...TARGET_OPTIONS,
  kind: {
    value: "kind",
    help: "installer, update, other or delta (default: installer); repeat it for a file that is both",
    isRepeatable: true,
  },
  from: { value: "version", help: "with --kind delta: the version that the delta updates" },
  id: { value: "id", help: "the release's id (default: PRODUCT-PLATFORM-ARCH-VERSION)" },
  "file-name": { value: "name", help: "the name of the download (default: the name of the file)" },
  "content-type": { value: "type", help: "the media type (default: from the file name)" },
  minisign: { value: "file", help: "the signature for Tauri (.sig)" },
  "ed-signature": { value: "signature", help: "the signature for Sparkle and WinSparkle" },
  appcast: { value: "file", help: "the appcast for Sparkle that you signed for this version; served unchanged" },
  blockmap: { value: "file", help: "the block map for electron-updater (default: FILE.blockmap, otherwise a new one)" },
  attestation: { value: "file", help: "a Sigstore bundle that states the file's provenance" },
  ...FIELD_OPTIONS,
  ...DESTINATION_OPTIONS,
  ...CHECK_OPTIONS,
} as const;

/** Which build a command is about. @throws UsageError */
export function parseTarget(command: string, values: Values<typeof TARGET_OPTIONS>) {
  const { product, platform, arch: architecture, version, channel } = values;
  if (product !== undefined && platform !== undefined && architecture !== undefined && version !== undefined) {
    return { product, platform, architecture, version, channel };
  }
  const missing = (["product", "platform", "arch", "version"] as const).filter((name) => values[name] === undefined);
  throw new UsageError(`${command} requires ${missing.map((name) => `--${name}`).join(", ")}.`);
}

/** Parses the arguments of `add`. @throws UsageError */
export async function parseDraft(file: string, values: Values<typeof ADD_OPTIONS>): Promise<ReleaseDraft> {
  const target = parseTarget("add", values);
  const signed = values.appcast === undefined ? {} : await readAppcast(values.appcast, target.version);
  const draftFile: DraftFile = {
    file: resolveFromCaller(file),
    ...parseKinds(values.kind, values.from),
    destination: parseDestination(values),
    blockMapFile: values.blockmap === undefined ? undefined : resolveFromCaller(values.blockmap),
    attestationFile: values.attestation === undefined ? undefined : resolveFromCaller(values.attestation),
    artifact: {
      fileName: values["file-name"],
      contentType: values["content-type"],
      minisign: await textOrFile(values.minisign),
      edSignature: values["ed-signature"] ?? signed.edSignature,
    },
  };
  const fields = await parseFields(values);
  const release = {
    id: values.id,
    ...target,
    ...fields,
    buildVersion: fields.buildVersion ?? signed.buildVersion,
    signedDocuments: signed.document === undefined ? undefined : { sparkle: signed.document },
  };
  return { release, files: [draftFile], ...(await parseChecks(values)) };
}

type SignedAppcast = { document?: string; edSignature?: string | undefined; buildVersion?: string | undefined };

/** Reads an appcast, and what it says about the file of a version. @throws UsageError */
async function readAppcast(input: string, version: string): Promise<SignedAppcast> {
  const { appcastItems } = await import("../../../lib/releases/formats/signed-appcast");
  const bytes = await readFile(resolveFromCaller(input)).catch(() => {
    throw new UsageError(`The file ${input} cannot be read.`);
  });
  const document = bytes.toString();
  if (!Buffer.from(document).equals(bytes)) throw new UsageError(`${input} is not UTF-8.`);
  const item = appcastItems(document).find(
    ({ shortVersionString, build }) => (shortVersionString ?? build) === version,
  );
  return { document, edSignature: item?.edSignature, buildVersion: item?.build === version ? undefined : item?.build };
}

/** The fields of a release as the manifest has them; undefined where no option sets one. @throws UsageError */
export async function parseFields(values: Values<typeof FIELD_OPTIONS>) {
  return {
    notes: await textOrFile(values.notes),
    notesUrl: values["notes-url"],
    minimumSupportedVersion: values["minimum-supported"],
    minimumSystemVersion: values["minimum-system"],
    requiresFrom: values["requires-from"],
    buildVersion: values["build-version"],
    phasedRolloutIntervalSeconds: parseInteger(values["phased-rollout-interval"], "--phased-rollout-interval"),
    releasedAt: values["released-at"],
    rollout: values.rollout === undefined ? undefined : parsePercentage(values.rollout),
    rolloutSeries: values["rollout-series"],
    critical: values.critical,
    rollback: values.rollback,
  };
}

export async function parseChecks(
  values: Values<typeof CHECK_OPTIONS>,
): Promise<Required<Pick<ReleaseDraft, "publicKeys" | "confirmations">>> {
  return {
    publicKeys: {
      minisign: await textOrFile(values["minisign-key"]),
      ed: oneOrAll(values["ed-key"]),
      manifest: await parseManifestKeys(values["manifest-key"]),
    },
    confirmations: { isNew: values.new, isPrerelease: values.prerelease, isUnsigned: values.unsigned },
  };
}

/** A single value as it is, since a catalog with one key has no list. */
const oneOrAll = <T>(values: T[] | undefined): T | T[] | undefined => (values?.length === 1 ? values[0] : values);

/** Parsed here, so that a private key never leaves this machine. @throws UsageError */
async function parseManifestKeys(inputs: string[] | undefined): Promise<string[] | undefined> {
  const texts = await Promise.all((inputs ?? []).map(textOrFile));
  const keys = texts.flatMap((text) => {
    const parsed = ManifestPublicKeys.safeParse(text);
    if (parsed.success) return parsed.data;
    throw new UsageError("--manifest-key takes a file with an Ed25519 public key, in PEM or base64.");
  });
  return inputs && keys;
}

export function parseDestination({ url, s3 }: Values<typeof DESTINATION_OPTIONS>): Destination {
  if (url !== undefined && s3) throw new UsageError("--url and --s3 are mutually exclusive.");
  if (url !== undefined) return { kind: "url", url };
  return { kind: s3 ? "storage" : "folder" };
}

function parseKinds(inputs: string[] = ["installer"], from: string | undefined): Pick<DraftFile, "kinds" | "from"> {
  const kinds = inputs.map((input) => {
    const kind = FileKind.options.find((known) => known === input);
    if (kind === undefined) throw new UsageError(`--kind must be one of ${FileKind.options.join(", ")}.`);
    return kind;
  });
  const isDelta = kinds.includes("delta");
  if (isDelta !== (from !== undefined))
    throw new UsageError("--kind delta requires --from VERSION, and --from requires --kind delta.");
  if (kinds.length > 1 && (isDelta || kinds.includes("other"))) {
    throw new UsageError("Only installer and update can be combined.");
  }
  return { kinds, from };
}

/** Reads a file's text, or returns the argument itself. @throws UsageError if a path's file does not exist */
async function textOrFile(input: string | undefined): Promise<string | undefined> {
  if (input === undefined) return input;
  const file = resolveFromCaller(input);
  if (existsSync(file) && statSync(file).isFile()) return readFile(file, "utf8");
  if (/^\S+\.(md|txt|sig|minisig|pub|pem)$/i.test(input)) throw new UsageError(`The file ${input} does not exist.`);
  return input;
}
