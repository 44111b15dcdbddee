import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import contentDisposition from "content-disposition";
import { CommandError } from "../../../../lib/errors";
import { makeFolder, writeChunks } from "../../../../lib/platform/files/durable";
import { drawProgress } from "../../terminal";
import { asUnavailable, get, unavailable } from "./http";
import type { Expected, SourceFile } from "./source";

const MAX_FILE_BYTES = 16 * 1024 ** 3;
/** File systems permit 255, with the extension of a block map. */
const MAX_NAME_BYTES = 240;
/** Of a transfer that breaks off. */
const MAX_ATTEMPTS = 3;

/**
 * Downloads a file into a folder of its own below `folder`, and compares it with all that the source states. One that an
 * earlier run has downloaded is only compared. Returns its path.
 * @throws CommandError file_changed for another file, source_unavailable, disk_full
 */
export async function downloadFile(folder: string, file: SourceFile): Promise<string> {
  if (!isFileName(file.name))
    throw new CommandError("feed_invalid", `"${file.name.slice(0, 300)}" cannot be the name of a file.`);
  const own = path.join(folder, createHash("sha256").update(file.url).digest("hex").slice(0, 16));
  const known = (await readdir(own).catch(() => [])).find((name) => isNameOf(file, name));
  if (known !== undefined && (await differences(path.join(own, known), file)) === null) return path.join(own, known);
  await makeFolder(own, 0o700);
  for (let attempt = 1; ; attempt += 1) {
    const part = path.join(own, `${randomUUID()}.part`);
    try {
      const name = await receive(file, part);
      const different = await differences(part, { ...file, name });
      if (different !== null) throw new CommandError("file_changed", different);
      await rename(part, path.join(own, name));
      return path.join(own, name);
    } catch (error) {
      await rm(part, { force: true });
      const { code, syscall } = error as NodeJS.ErrnoException;
      if (code === "ENOSPC" || code === "EDQUOT")
        throw new CommandError("disk_full", `There is no space in ${folder}.`);
      const isBroken = !(error instanceof CommandError) && syscall === undefined;
      if (!isBroken || attempt >= MAX_ATTEMPTS) throw isBroken ? asUnavailable(file.url, error) : error;
    }
  }
}

const isFileName = (name: string) =>
  name === path.win32.basename(name) &&
  !["", ".", ".."].includes(name) &&
  !/\p{Cc}/u.test(name) &&
  Buffer.byteLength(name) <= MAX_NAME_BYTES;

/** A URL may not end in a name: then the response has it. */
const isNameOf = ({ name }: SourceFile, other: string) =>
  path.extname(name) === "" ? !/\.(part|blockmap)$/.test(other) : other === name;

async function receive({ name, url, headers, expected }: SourceFile, part: string): Promise<string> {
  const response = await get(url, headers);
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    throw unavailable(url, `the response status is ${response.status}.`);
  }
  const stated = expected.find(({ sizeBytes }) => sizeBytes !== undefined)?.sizeBytes;
  const totalBytes = stated ?? Number(response.headers.get("content-length") ?? 0);
  await writeChunks(part, bounded(response.body, name, stated ?? MAX_FILE_BYTES, totalBytes), 0o600);
  return path.extname(name) === "" ? (nameIn(response.headers) ?? name) : name;
}

function nameIn(headers: Response["headers"]): string | undefined {
  try {
    const { filename = "" } = contentDisposition.parse(headers.get("content-disposition") ?? "").parameters;
    return isFileName(filename) ? filename : undefined;
  } catch {
    return undefined;
  }
}

async function* bounded(body: AsyncIterable<Uint8Array>, name: string, maxBytes: number, totalBytes: number) {
  let doneBytes = 0;
  for await (const chunk of body) {
    doneBytes += chunk.byteLength;
    if (doneBytes > maxBytes) throw new CommandError("file_changed", `${name} is larger than ${maxBytes} bytes.`);
    drawProgress("Loading", doneBytes, totalBytes);
    yield chunk;
  }
  drawProgress("Loading", totalBytes, totalBytes);
}

const HASHES = { sha1: "hex", sha256: "hex", sha512: "base64" } as const;
type HashName = keyof typeof HASHES;

/** Describes how a file differs from what its source states; null if it does not. */
async function differences(file: string, { name, expected }: SourceFile): Promise<string | null> {
  const found: Expected = { by: "", sizeBytes: (await stat(file)).size, ...(await hashesOf(file, expected)) };
  for (const stated of expected) {
    for (const field of ["sizeBytes", "sha1", "sha256", "sha512"] as const) {
      if (stated[field] === undefined || stated[field] === found[field]) continue;
      const word = field === "sizeBytes" ? "size" : field;
      return `${name} is not the file that ${stated.by} describes: its ${word} is ${found[field]}, expected ${stated[field]}.`;
    }
  }
  return null;
}

async function hashesOf(file: string, expected: readonly Expected[]): Promise<Partial<Record<HashName, string>>> {
  const names = (Object.keys(HASHES) as HashName[]).filter((name) =>
    expected.some((stated) => stated[name] !== undefined),
  );
  if (names.length === 0) return {};
  const hashes = names.map((name) => [name, createHash(name)] as const);
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 })) {
    for (const [, hash] of hashes) hash.update(chunk as Uint8Array);
  }
  return Object.fromEntries(hashes.map(([name, hash]) => [name, hash.digest(HASHES[name])]));
}
