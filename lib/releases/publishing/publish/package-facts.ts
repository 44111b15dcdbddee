import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { promisify } from "node:util";
import { inflateRaw } from "node:zlib";
import type { Artifact } from "../../schema";
import { readPackageIdentity } from "./package-identity";

const LENGTH_BYTES = 4;
const MAX_BLOCK_MAP_BYTES = 16 * 1024 * 1024;

/**
 * What updaters need to know of a package besides its usual hashes: the SHA-1 of a .nupkg, an AppImage's block map, and
 * the identity of an MSIX package.
 * @throws AppError if an MSIX package is not one
 */
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

/**
 * The size of the block map that electron-builder appends to an AppImage: raw DEFLATE, and its length in four bytes.
 * Returns null if there is none.
 */
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
