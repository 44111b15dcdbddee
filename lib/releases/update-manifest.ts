import { createHash } from "node:crypto";
import { load } from "js-yaml";
import { z } from "zod";
import { fieldMessage } from "../platform/field-message";
import { formatVersion, type Release, type SignedManifest } from "./schema";
import { EdSignature, type PublicKeys, verifyEdSignature } from "./signatures";

const MAX_FILES = 100;
const MAX_SIGNATURES = 20;

/** The tag of the signed bytes. Another one is another format, and is not verified. */
const FORMAT = "EBUM1";

const SignedText = z
  .string()
  .refine((text) => ![...text].some((one) => one < " " || one === "\u007f"), "Must not have control characters");
const Name = SignedText.min(1);
const Size = z.number().nullish();

const NamedPackage = z.object({
  path: Name,
  sha512: Name,
  size: Size,
  blockMapSize: Size,
  isAdminRightsRequired: z.boolean().nullish(),
});

/**
 * A signed `latest.yml` (electron.build, "Signed Update Manifests"), in the shape without which electron-updater does not
 * look at a signature (builder-util-runtime, `validateSignedManifestShape`). What is not signed is left out.
 */
const UpdateManifest = z.object({
  version: Name,
  stagingPercentage: z.number().nullish(),
  minimumSystemVersion: SignedText.nullish(),
  files: z
    .array(z.object({ url: Name, sha512: Name, size: Size, blockMapUrl: Name.nullish() }))
    .min(1)
    .max(MAX_FILES),
  packages: z.record(Name, NamedPackage).nullish(),
  signature: z.unknown(),
  signatures: z.array(z.unknown()).max(MAX_SIGNATURES).nullish(),
});
export type UpdateManifest = z.infer<typeof UpdateManifest>;

const KeySignature = z.object({ keyId: z.string().min(1).optional().catch(undefined), signature: EdSignature });
type KeySignature = z.infer<typeof KeySignature>;

/** Parses `latest.yml`. @throws Error that says what electron-updater would reject */
export function parseUpdateManifest(text: string): UpdateManifest {
  const parsed = UpdateManifest.safeParse(parseText(text), { error: fieldMessage });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${issue?.path.join(".") || "the document"}: ${issue?.message}`);
}

/** With electron-updater's own parser, which also bounds the depth and time that a hostile text takes. */
function parseText(text: string): unknown {
  try {
    return load(text);
  } catch (error) {
    throw new Error(`it is not YAML: ${(error as Error).message.split("\n")[0]}`);
  }
}

/** Every string is in quotes and no value has a line break, so that no two manifests have the same bytes. */
const encode = (value: unknown) => (value === undefined || value === null ? "" : JSON.stringify(value));
const record = (label: string, ...values: unknown[]) => `${label}:${values.map(encode).join("\t")}`;

/** What a publisher signs of a manifest (builder-util-runtime, `canonicalizeForSigning`). */
function signedBytes({ version, stagingPercentage, minimumSystemVersion, files, packages }: UpdateManifest): Buffer {
  const fileRecords = files.map(({ url, sha512, size, blockMapUrl }) =>
    record("file", url, sha512, size, ...(blockMapUrl ? [blockMapUrl] : [])),
  );
  const packageRecords = Object.entries(packages ?? {}).map(
    ([architecture, { path, sha512, size, blockMapSize, isAdminRightsRequired }]) =>
      `${record("package", architecture, path, sha512, size, blockMapSize)}\t${isAdminRightsRequired ? "1" : ""}`,
  );
  const head = [
    FORMAT,
    record("version", version),
    record("staging", stagingPercentage),
    record("minimumSystemVersion", minimumSystemVersion),
  ];
  return Buffer.from([...head, ...fileRecords.sort(), ...packageRecords.sort()].join("\n"));
}

/** The signatures by key, and the one without a key's id that electron-builder also writes. */
function signaturesOf({ signature, signatures }: UpdateManifest): KeySignature[] {
  return [...(signatures ?? []), { signature }].flatMap((one) => KeySignature.safeParse(one).data ?? []);
}

/** electron-builder's id of a public key: the SHA-256 of its SPKI. */
export function manifestKeyId(key: string): string {
  return createHash("sha256").update(Buffer.from(key, "base64")).digest("hex");
}

/** Those of the product's keys that signed a manifest. An app accepts it with any key that it trusts. */
export function signersOf(manifest: UpdateManifest, keys: readonly string[]): string[] {
  const bytes = signedBytes(manifest);
  const signatures = signaturesOf(manifest);
  return keys.filter((key) => {
    const keyId = manifestKeyId(key);
    const raw = Buffer.from(key, "base64").subarray(-32).toString("base64");
    return signatures.some(
      (one) => (one.keyId === undefined || one.keyId === keyId) && verifyEdSignature(one.signature, raw, bytes),
    );
  });
}

/** Why electron-updater must not get a release's signed manifest, for people. Without keys only apps verify it. */
export function updateManifestProblem(
  { text, sha256 }: SignedManifest,
  { product, version }: Release,
  { manifest: keys = [] }: PublicKeys,
): string | undefined {
  // Not all of it is signed, such as the notes.
  if (createHash("sha256").update(text).digest("hex") !== sha256) return "The signed manifest has changed since.";
  try {
    const manifest = parseUpdateManifest(text);
    const { stagingPercentage } = manifest;
    if (signaturesOf(manifest).length === 0) return "The manifest has no signature.";
    if (keys.length > 0 && signersOf(manifest, keys).length === 0)
      return `The signature of the manifest does not match it and ${product}'s keys: sign it again after every change.`;
    if (manifest.version !== formatVersion(version)) return `The signed manifest is of version ${manifest.version}.`;
    if (stagingPercentage == null) return undefined;
    return `The signed manifest has a stagingPercentage of ${stagingPercentage}, which apps would apply on top of the rollout: build without it, and set --rollout.`;
  } catch (error) {
    return `electron-updater would refuse the signed manifest: ${(error as Error).message}.`;
  }
}
