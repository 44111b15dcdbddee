import { open } from "node:fs/promises";
import path from "node:path";
import { readZipHeads } from "../../../platform/files/zip-heads";
import { normalizeArchitecture } from "../../schema";
import { PublishingError } from "../manifest/publishing-error";
import type { FoundRelease } from "./found-releases";
import { architectureOfProgram, MAX_HEADER_BYTES } from "./program-headers";
import { readTarEntries } from "./tar-entries";

const MAC_PROGRAM = /^(?:\.\/)?[^/]+\.app\/Contents\/MacOS\/[^/]+$/;
/** The app in a NuGet package, without the programs that Squirrel.Windows and Velopack add. */
const WINDOWS_PROGRAM = /^lib\/[^/]+\/(?!squirrel\.exe$|update\.exe$)[^/]+(?<!_ExecutionStub)\.exe$/i;
const MAX_AR_MEMBERS = 8;

/**
 * The architecture of the program in a published file, read from the program's header. Undefined if the file is of
 * another format, cannot be read, or holds programs that have no architecture in common.
 */
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
        if (/^(?:\.\/)?control$/.test(name)) return own && DEBIAN.get(own);
      }
    }
    offset = start + sizeBytes + (sizeBytes % 2);
  }
  return undefined;
}

const DEBIAN = new Map([
  ["amd64", "x64"],
  ["arm64", "arm64"],
  ["armhf", "armv7l"],
  ["i386", "ia32"],
]);

async function readStart(file: string, position: number, length: number): Promise<Buffer> {
  const handle = await open(file);
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, position);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** @throws PublishingError if a file holds a program for another architecture than its release has */
export async function assertProgramArchitectures({ platform, architecture, files }: FoundRelease): Promise<void> {
  const expected = normalizeArchitecture(architecture);
  for (const { file } of files) {
    const own = await programArchitecture(file);
    const isBootstrapper = platform === "windows" && /\.exe$/i.test(file);
    const runs = [
      expected,
      ...(platform === "macos" ? ["universal"] : []),
      ...(isBootstrapper ? bootstraps(expected) : []),
    ];
    if (own === undefined || runs.includes(own)) continue;
    throw new PublishingError(
      `${path.basename(file)} holds a program for ${own}, but would be published for ${expected}. If several jobs wrote to one folder, publish the folder of each job on its own. If only the name is wrong, set --arch ${own}.`,
    );
  }
}

/** An installer for arm64 may itself be a program for x64, which arm64 runs. */
function bootstraps(architecture: string): string[] {
  return architecture === "arm64" ? ["x64"] : [];
}
