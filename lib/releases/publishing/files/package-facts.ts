import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { promisify } from "node:util";
import { inflateRaw } from "node:zlib";
import { z } from "zod";
import type { AppError } from "../../../errors";
import { readZipEntry } from "../../../platform/files/zip";
import { normalizeArchitecture } from "../../platforms";
import { releaseFiles } from "../../release-files";
import { type Artifact, formatVersion, PackageIdentity, type Release } from "../../schema";
import { invalidRelease } from "../invalid-release";
import { parseXml, XmlAttribute } from "./read-xml";

const LENGTH_BYTES = 4;
const MAX_BLOCK_MAP_BYTES = 16 * 1024 * 1024;

/** What updaters need to know of a package besides its usual hashes. @throws AppError if an MSIX package is not one */
export async function readPackageFacts(
  file: string,
  fileName: string,
): Promise<Pick<Artifact, "sha1" | "embeddedBlockMapBytes" | "packageIdentity">> {
  const packageIdentity = await readPackageIdentity(file, fileName);
  if (packageIdentity) return { packageIdentity };
  if (/\.nupkg$/i.test(fileName)) return { sha1: await sha1Of(file) };
  if (!/\.AppImage$/i.test(fileName)) return {};
  const embeddedBlockMapBytes = await findEmbeddedBlockMap(file);
  return embeddedBlockMapBytes === null ? {} : { embeddedBlockMapBytes };
}

async function sha1Of(file: string): Promise<string> {
  const hash = createHash("sha1");
  for await (const chunk of createReadStream(file)) hash.update(chunk as Uint8Array);
  return hash.digest("hex");
}

/** The size of the block map at the end of an AppImage: raw DEFLATE, and its length in four bytes. */
async function findEmbeddedBlockMap(file: string): Promise<number | null> {
  const handle = await open(file, "r");
  try {
    const { size } = await handle.stat();
    if (size <= LENGTH_BYTES) return null;
    const length = Buffer.alloc(LENGTH_BYTES);
    await handle.read(length, 0, LENGTH_BYTES, size - LENGTH_BYTES);
    const bytes = length.readUInt32BE();
    if (bytes === 0 || bytes > MAX_BLOCK_MAP_BYTES || bytes > size - LENGTH_BYTES) return null;
    const compressed = Buffer.alloc(bytes);
    await handle.read(compressed, 0, bytes, size - LENGTH_BYTES - bytes);
    return (await isBlockMap(compressed)) ? bytes : null;
  } finally {
    await handle.close();
  }
}

async function isBlockMap(compressed: Uint8Array): Promise<boolean> {
  try {
    const text = await promisify(inflateRaw)(compressed, { maxOutputLength: MAX_BLOCK_MAP_BYTES });
    const { version, files } = JSON.parse(text.toString());
    return typeof version === "string" && Array.isArray(files);
  } catch {
    return false; // these bytes are something else
  }
}

const PACKAGE = { pattern: /\.(msix|appx)$/i, manifest: "AppxManifest.xml" };
const BUNDLE = { pattern: /\.(msix|appx)bundle$/i, manifest: "AppxMetadata/AppxBundleManifest.xml" };
const MAX_MANIFEST_BYTES = 1024 * 1024;

/** The root element is named after the kind of the file. */
const Manifest = z.union([
  z.object({ Package: z.object({ Identity: z.unknown() }) }).transform(({ Package }) => Package.Identity),
  z.object({ Bundle: z.object({ Identity: z.unknown() }) }).transform(({ Bundle }) => Bundle.Identity),
]);
const Identity = z.object({
  "@Name": XmlAttribute,
  "@Publisher": XmlAttribute,
  "@Version": XmlAttribute,
  "@ProcessorArchitecture": XmlAttribute.optional(),
});

/** Reads the identity of an MSIX package or bundle; undefined for other files. @throws AppError if it is not one */
async function readPackageIdentity(file: string, fileName: string): Promise<PackageIdentity | undefined> {
  const kind = [PACKAGE, BUNDLE].find(({ pattern }) => pattern.test(fileName));
  if (!kind) return undefined;
  const bytes = await readZipEntry(file, (name) => name === kind.manifest, MAX_MANIFEST_BYTES).catch((error: Error) => {
    throw notPackage(fileName, error.message);
  });
  if (!bytes) throw notPackage(fileName, `It has no ${kind.manifest}`);
  const invalid = notPackage(fileName, `The identity in ${kind.manifest} is not valid`);
  const identity = Identity.safeParse(parseManifest(bytes)).data;
  if (!identity) throw invalid;
  const architecture = identity["@ProcessorArchitecture"]?.toLowerCase() ?? "neutral";
  const parsed = PackageIdentity.safeParse({
    name: identity["@Name"],
    publisher: identity["@Publisher"],
    version: identity["@Version"],
    architecture: kind === BUNDLE ? null : architecture,
  });
  if (parsed.success) return parsed.data;
  throw invalid;
}

function parseManifest(bytes: Uint8Array): unknown {
  try {
    return Manifest.parse(parseXml(bytes));
  } catch {
    return null; // not XML, or too deep
  }
}

function notPackage(fileName: string, reason: string): AppError {
  return invalidRelease(`${fileName} is not an MSIX package that App Installer accepts: ${reason.replace(/\.$/, "")}.`);
}

/** What is wrong with a package of another version or architecture. SemVer has no fourth number, so it may be any. */
export function foreignPackage(release: Release): string | undefined {
  const { major, minor, patch } = release.version;
  for (const { fileName, packageIdentity } of releaseFiles(release)) {
    if (!packageIdentity) continue;
    const { version, architecture } = packageIdentity;
    if (version.split(".").slice(0, 3).map(Number).join(".") !== `${major}.${minor}.${patch}`)
      return `${fileName} has the version ${version}, not ${formatVersion(release.version)}.`;
    if (architecture === null || architecture === "neutral") continue;
    if (normalizeArchitecture(architecture) !== release.architecture)
      return `${fileName} is for ${architecture}, not for ${release.architecture}.`;
  }
  return undefined;
}
