import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { createGunzip } from "node:zlib";
import { readZipHeads } from "../../../platform/files/zip";
import { architectureOf, normalizeArchitecture, RUNS_ON } from "../../platforms";
import { invalidRelease } from "../invalid-release";
import type { FoundRelease } from "./found-releases";

const BLOCK_BYTES = 512;
/** The largest part of an archive that is unpacked to find a program in it. */
const MAX_UNPACKED_BYTES = 1024 ** 3;

/** The first `headBytes` of each file in a .tar.gz (POSIX ustar). @throws Error if it is not one */
async function* readTarEntries(file: string, headBytes: number, range: { start?: number; end?: number } = {}) {
  const chunks = createReadStream(file, range).pipe(createGunzip());
  let pending = Buffer.alloc(0);
  let skip = 0;
  let unpacked = 0;
  for await (const chunk of chunks as AsyncIterable<Buffer>) {
    unpacked += chunk.length;
    if (unpacked > MAX_UNPACKED_BYTES) return;
    const skipped = Math.min(skip, chunk.length);
    skip -= skipped;
    if (skipped < chunk.length) pending = Buffer.concat([pending, chunk.subarray(skipped)]);
    while (pending.length >= BLOCK_BYTES) {
      const sizeBytes = Number.parseInt(text(pending, 124, 12).trim() || "0", 8);
      if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) return;
      const wanted = BLOCK_BYTES + Math.min(sizeBytes, headBytes);
      if (pending.length < wanted) break;
      const [name, prefix] = [text(pending, 0, 100), text(pending, 345, 155)];
      yield { name: prefix ? `${prefix}/${name}` : name, head: Buffer.from(pending.subarray(BLOCK_BYTES, wanted)) };
      const whole = BLOCK_BYTES + Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES;
      skip = Math.max(0, whole - pending.length);
      pending = pending.subarray(whole);
    }
  }
}

function text(block: Buffer, start: number, length: number): string {
  return block.toString("utf8", start, start + length).split("\0", 1)[0] ?? "";
}

/** How many bytes of a program `architectureOfProgram` needs. */
const MAX_HEADER_BYTES = 8192;

/** The architecture that the header of an ELF, PE or Mach-O program names. Undefined if there is none. */
function architectureOfProgram(bytes: Buffer): string | undefined {
  if (bytes.length < 64) return undefined;
  const magic = bytes.readUInt32BE(0);
  if (magic === 0x7f454c46) return architectureOf("elf", bytes.readUInt16LE(18));
  if (magic === 0xcffaedfe) return architectureOf("machO", bytes.readUInt32LE(4));
  if (magic === 0xcafebabe || magic === 0xcafebabf) return architectureOfFat(bytes, magic === 0xcafebabe ? 20 : 32);
  return bytes.toString("latin1", 0, 2) === "MZ" ? architectureOfPe(bytes) : undefined;
}

function architectureOfPe(bytes: Buffer): string | undefined {
  const offset = bytes.readUInt32LE(0x3c);
  if (offset + 6 > bytes.length || bytes.toString("latin1", offset, offset + 4) !== "PE\0\0") return undefined;
  return architectureOf("pe", bytes.readUInt16LE(offset + 4));
}

/** A universal program has one entry for each architecture (mach-o/fat.h). */
function architectureOfFat(bytes: Buffer, entryBytes: number): string | undefined {
  const count = Math.min(bytes.readUInt32BE(4), Math.floor((bytes.length - 12) / entryBytes), 32);
  const types = Array.from({ length: count }, (_, index) =>
    architectureOf("machO", bytes.readUInt32BE(8 + index * entryBytes)),
  );
  const own = [...new Set(types.filter((type) => type !== undefined))];
  return own.length > 1 ? "universal" : own[0];
}

const MAC_PROGRAM = /^(?:\.\/)?[^/]+\.app\/Contents\/MacOS\/[^/]+$/;
/** The app in a NuGet package, without the programs that Squirrel.Windows and Velopack add. */
const WINDOWS_PROGRAM = /^lib\/[^/]+\/(?!squirrel\.exe$|update\.exe$)[^/]+(?<!_ExecutionStub)\.exe$/i;
const MAX_AR_MEMBERS = 8;

/** The architecture that the header of a file's program names. Undefined if its programs have none in common. */
export async function programArchitecture(file: string): Promise<string | undefined> {
  return await readArchitecture(file).catch(() => undefined); // a damaged file is judged where it is published
}

async function readArchitecture(file: string): Promise<string | undefined> {
  if (/\.(exe|AppImage)$/i.test(file)) return architectureOfProgram(await readStart(file, 0, MAX_HEADER_BYTES));
  if (/\.deb$/i.test(file)) return await architectureOfDeb(file);
  if (/\.app\.tar\.gz$/i.test(file)) return await common(programsInTar(file));
  const pattern = /\.nupkg$/i.test(file) ? WINDOWS_PROGRAM : MAC_PROGRAM;
  if (!/\.(zip|nupkg)$/i.test(file)) return undefined;
  return await common(readZipHeads(file, (name) => pattern.test(name), MAX_HEADER_BYTES));
}

async function* programsInTar(file: string) {
  let hasStarted = false;
  for await (const entry of readTarEntries(file, MAX_HEADER_BYTES)) {
    const isProgram = MAC_PROGRAM.test(entry.name);
    if (isProgram) yield entry;
    if (hasStarted && !isProgram) return; // the files of a folder follow each other
    hasStarted ||= isProgram;
  }
}

/** Programs beside the app's own may run on more architectures than it does, not on fewer. */
async function common(programs: AsyncIterable<{ head: Buffer }>): Promise<string | undefined> {
  const all = new Set<string>();
  for await (const { head } of programs) {
    const own = architectureOfProgram(head);
    if (own !== undefined) all.add(own);
  }
  if (all.size > 1) all.delete("universal");
  return all.size === 1 ? [...all][0] : undefined;
}

/** A .deb is an ar archive, and its control file names the architecture. */
async function architectureOfDeb(file: string): Promise<string | undefined> {
  let offset = "!<arch>\n".length;
  for (let member = 0; member < MAX_AR_MEMBERS; member += 1) {
    const header = (await readStart(file, offset, 60)).toString("latin1");
    const sizeBytes = Number.parseInt(header.slice(48, 58), 10);
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) return undefined;
    const start = offset + 60;
    if (header.startsWith("control.tar.gz")) {
      for await (const { name, head } of readTarEntries(file, MAX_HEADER_BYTES, {
        start,
        end: start + sizeBytes - 1,
      })) {
        const [, own] = /^Architecture: *([a-z0-9]+)/m.exec(head.toString("latin1")) ?? [];
        if (/^(?:\.\/)?control$/.test(name)) return own && architectureOf("debian", own);
      }
    }
    offset = start + sizeBytes + (sizeBytes % 2);
  }
  return undefined;
}

async function readStart(file: string, position: number, length: number): Promise<Buffer> {
  const handle = await open(file);
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, position);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** @throws AppError if a file holds a program for another architecture than its release has */
export async function assertProgramArchitectures({ platform, architecture, files }: FoundRelease): Promise<void> {
  const expected = normalizeArchitecture(architecture);
  for (const { file } of files) {
    const own = await programArchitecture(file);
    const isBootstrapper = platform === "windows" && /\.exe$/i.test(file);
    const runs = [
      expected,
      ...(platform === "macos" ? ["universal"] : []),
      // An installer may itself be a program for a system that runs it, too.
      ...(isBootstrapper ? (RUNS_ON.windows[expected] ?? []) : []),
    ];
    if (own === undefined || runs.includes(own)) continue;
    throw invalidRelease(
      `${path.basename(file)} holds a program for ${own}, but would be published for ${expected}. If several jobs wrote to one folder, publish the folder of each job on its own. If only the name is wrong, set --arch ${own}.`,
    );
  }
}
