import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { AppError, CommandError } from "../../../errors";
import type { FileKind } from "../schema";
import { BLOCK_MAP_EXTENSION, isBlockMapOf, makeBlockMap, parseBlockMap, serializeBlockMap } from "./block-map";
import type { OnProgress } from "./build-file";

/** A block map to store beside its file. `file` is where it was read from; null if it was made. */
export type NewBlockMap = { file: string | null; bytes: Uint8Array; sizeBytes: number; sha256: string };

/** A file to publish. `blockMapFile` is its block map if that is not beside it. */
type BuildFile = {
  file: string;
  fileName: string;
  sizeBytes: number;
  kinds: readonly FileKind[];
  destination?: { kind: string } | undefined;
  blockMapFile?: string | undefined;
};

/** The files of which electron-updater downloads parts. An AppImage has its block map inside. */
const WITH_BLOCK_MAP = /\.(exe|zip)$/i;
/** A smaller file is downloaded whole as fast as two block maps and its changed blocks. */
const MIN_FILE_BYTES = 512 * 1024;
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/**
 * Finds the block map of a file for electron-updater: the one that is named, else the one beside the file, else a new
 * one. Returns null for other files, and instead of a new one for a small file or for one at a URL.
 * @throws AppError if the block map is damaged, or that of another file
 */
export async function findBlockMap(build: BuildFile, onProgress?: OnProgress): Promise<NewBlockMap | null> {
  const { file, fileName, sizeBytes, kinds, destination, blockMapFile } = build;
  const onBytes = (doneBytes: number) => onProgress?.("Hashing", doneBytes, sizeBytes);
  if (blockMapFile === undefined && (kinds.includes("delta") || !WITH_BLOCK_MAP.test(fileName))) return null;
  const beside = `${file}${BLOCK_MAP_EXTENSION}`;
  const from = blockMapFile ?? ((await exists(beside)) ? beside : undefined);
  if (from === undefined && (sizeBytes < MIN_FILE_BYTES || destination?.kind === "url")) return null;
  const bytes = from
    ? await readBlockMap(from, build, onBytes)
    : await serializeBlockMap(await makeBlockMap(file, onBytes));
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { file: from ?? null, bytes, sizeBytes: bytes.byteLength, sha256 };
}

async function readBlockMap(from: string, { file, sizeBytes }: BuildFile, onBytes: (doneBytes: number) => void) {
  const bytes = await readSmallFile(from);
  const blockMap = await parseBlockMap(bytes).catch((error: Error) => {
    throw new AppError("release_invalid", `${from} is not a block map: ${error.message}.`);
  });
  if (await isBlockMapOf(blockMap, file, sizeBytes, onBytes)) return bytes;
  throw new AppError(
    "release_invalid",
    `${from} is the block map of another file than ${file}: updates would fail. Build it again, or delete it and a new one is made.`,
  );
}

async function readSmallFile(file: string): Promise<Buffer> {
  const stats = await stat(file).catch((error: Error) => {
    throw new CommandError("file_unreadable", `${file} cannot be read: ${error.message}`);
  });
  if (stats.isFile() && stats.size <= MAX_FILE_BYTES) return readFile(file);
  throw new AppError("release_invalid", `${file} is not a block map: it is a folder, or larger than 64 MiB.`);
}

async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => null)) !== null;
}
