import { createHash, createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { parse, stringify } from "yaml";

/** A publisher's key: `publicKey` is what `electron-builder create-update-key` prints. */
export type ManifestKey = { publicKey: string; sign: (bytes: Buffer) => string };

export function newManifestKey(): ManifestKey {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    publicKey: publicKey.export({ format: "pem", type: "spki" }).toString(),
    sign: (bytes) => sign(null, bytes, privateKey).toString("base64"),
  };
}

/** What latest.yml says, as YAML parsers read it. */
export type Info = Record<string, unknown> & { version: string };

const idOf = ({ publicKey }: ManifestKey) =>
  createHash("sha256")
    .update(createPublicKey(publicKey).export({ format: "der", type: "spki" }))
    .digest("hex");

/** A manifest that is signed by each key, as electron-builder writes it: the first signature is there twice. */
export function signManifest({ signature: _, signatures: __, ...info }: Info, keys: readonly ManifestKey[]): string {
  const bytes = ebum1(info as Info);
  const signatures = keys.map((key) => ({ keyId: idOf(key), signature: key.sign(bytes) }));
  return stringify({ ...info, ...(keys.length > 0 && { signature: signatures[0]?.signature, signatures }) });
}

/** Signs an update file in a folder. Returns its text. */
export async function signUpdateFile(folder: string, name: string, keys: readonly ManifestKey[]): Promise<string> {
  const text = signManifest(parse(await readFile(path.join(folder, name), "utf8")), keys);
  await writeFile(path.join(folder, name), text);
  return text;
}

/**
 * The error with which electron-updater 7 would stop at a manifest, by the keys in its app-update.yml; null if it goes on.
 * Written from electron-builder's documentation, apart from the service's own verifier.
 */
export function manifestError(info: Info, trusted: readonly ManifestKey[]): string | null {
  if (trusted.length === 0) return null;
  const named = (info.signatures ?? []) as { keyId?: string; signature?: string }[];
  const candidates = [...named, { signature: info.signature as string }].filter(({ signature }) => signature);
  if (candidates.length === 0) return "ERR_UPDATER_MANIFEST_NOT_SIGNED";
  const isBy = (key: ManifestKey) =>
    candidates.some(
      (one) =>
        (one.keyId === undefined || one.keyId === idOf(key)) &&
        verify(null, ebum1(info), createPublicKey(key.publicKey), Buffer.from(one.signature ?? "", "base64")),
    );
  const hasFiles = Array.isArray(info.files) && info.files.length > 0;
  return hasFiles && trusted.some(isBy) ? null : "ERR_UPDATER_MANIFEST_SIGNATURE_INVALID";
}

type File = Record<"url" | "sha512" | "size", unknown>;
type Package = Record<"path" | "sha512" | "size" | "blockMapSize" | "isAdminRightsRequired", unknown>;

/** The bytes of the format EBUM1: a line for each record, with tabs between JSON values. */
export function ebum1(info: Info): Buffer {
  const json = (value: unknown) => (value == null ? "" : JSON.stringify(value));
  let text = `EBUM1\nversion:${json(info.version)}\nstaging:${json(info.stagingPercentage)}`;
  text += `\nminimumSystemVersion:${json(info.minimumSystemVersion)}`;
  const files = (info.files as File[]).map(
    (file) => `file:${json(file.url)}\t${json(file.sha512)}\t${json(file.size)}`,
  );
  for (const line of files.sort()) text += `\n${line}`;
  const packages = Object.entries((info.packages ?? {}) as Record<string, Package>).map(([name, one]) => {
    const values = [name, one.path, one.sha512, one.size, one.blockMapSize].map(json).join("\t");
    return `package:${values}\t${one.isAdminRightsRequired ? 1 : ""}`;
  });
  for (const line of packages.sort()) text += `\n${line}`;
  return Buffer.from(text);
}
