import { createHash } from "node:crypto";
import { lstat, mkdir, open, rename } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";

const FILE_BYTES = 256 * 1024;
const PRODUCTS = { core: "Core", ops: "Ops" } as const;

/** What the sample releases, oldest first. */
const VERSIONS = [
  { version: "1.0.0", channel: "stable", releasedAt: "2026-09-01T09:00:00Z", notes: "The first release." },
  { version: "1.1.0", channel: "stable", releasedAt: "2026-11-03T09:00:00Z", notes: "Starts faster." },
  { version: "1.2.0-beta.1", channel: "beta", releasedAt: "2026-11-17T09:00:00Z", notes: "A look ahead." },
] as const;

type Product = keyof typeof PRODUCTS;
type Sample = { title: string; product: Product; version: string };

/**
 * Lays a catalog with small real files down, unless `manifest` exists. The files come first and the manifest
 * last, each whole or not at all: after a kill half-way the next start does it again.
 * Returns whether it did.
 */
export async function laySampleDown(manifest: string): Promise<boolean> {
  if (await exists(manifest)) return false;
  const folder = path.dirname(manifest);
  await mkdir(folder, { recursive: true });
  const releases = [];
  for (const product of Object.keys(PRODUCTS) as Product[]) {
    for (const release of VERSIONS.filter(({ channel }) => channel === "stable" || product === "core")) {
      releases.push(await addRelease(folder, "windows", product, release));
      releases.push(await addRelease(folder, "macos", product, release));
    }
  }
  await writeDurably(manifest, Buffer.from(`${JSON.stringify({ schemaVersion: 1, releases }, null, 2)}\n`));
  return true;
}

async function exists(file: string): Promise<boolean> {
  return lstat(file).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
}

async function addRelease(
  folder: string,
  platform: "windows" | "macos",
  product: Product,
  release: (typeof VERSIONS)[number],
) {
  const { version } = release;
  const sample = { title: `Homeport ${PRODUCTS[product]}`, product, version };
  const isWindows = platform === "windows";
  const architecture = isWindows ? "x64" : "universal";
  const fileName = `homeport-${product}-${version}-${architecture}.${isWindows ? "exe" : "tar.gz"}`;
  const bytes = isWindows ? dosProgram(sample) : appArchive(sample);
  await writeDurably(path.join(folder, fileName), bytes, new Date(release.releasedAt));
  const artifact = {
    file: fileName,
    fileName,
    sizeBytes: bytes.byteLength,
    sha256: createHash("sha256").update(bytes).digest("hex"),
    sha512: createHash("sha512").update(bytes).digest("base64"),
    contentType: isWindows ? "application/x-msdownload" : "application/gzip",
  };
  return {
    id: `${product}-${platform}-${architecture}-${version}`,
    platform,
    product,
    architecture,
    ...release,
    artifacts: { installer: artifact, update: artifact },
  };
}

/** Temporary file, fsync, rename, fsync of the folder: whole or not at all, should the power go. */
async function writeDurably(file: string, bytes: Uint8Array, modifiedAt?: Date): Promise<void> {
  const temporary = `${file}.tmp`;
  const handle = await open(temporary, "w");
  try {
    await handle.writeFile(bytes);
    if (modifiedAt) await handle.utimes(modifiedAt, modifiedAt);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
  const folder = await open(path.dirname(file));
  await folder.sync().finally(() => folder.close());
}

/** An MS-DOS program that prints what it is; what follows the program in its file is never loaded. */
function dosProgram({ title, version }: Sample): Buffer {
  // push cs; pop ds; mov dx, 14; mov ah, 9 (print up to the $); int 21h; mov ax, 4C00h (exit); int 21h
  const code = Buffer.from("0e1fba0e00b409cd21b8004ccd21", "hex");
  const text = Buffer.from(`${title} ${version}: a sample installer. There is nothing to install.\r\n$`, "ascii");
  const header = Buffer.alloc(32);
  const imageBytes = header.length + code.length + text.length;
  header.write("MZ");
  header.writeUInt16LE(imageBytes % 512, 2);
  header.writeUInt16LE(Math.ceil(imageBytes / 512), 4); // pages of 512 bytes
  header.writeUInt16LE(header.length / 16, 8); // paragraphs of 16 bytes
  header.writeUInt16LE(64, 10); // paragraphs wanted beyond the image, for the stack
  header.writeUInt16LE(0xffff, 12);
  header.writeUInt16LE(1024, 16); // the stack's top, in the program's own segment
  header.writeUInt16LE(28, 24); // where the relocations, of which there are none, would stand
  return Buffer.concat([header, code, text, filler(`${title} ${version}`, FILE_BYTES - imageBytes)]);
}

/** A macOS application in a .tar.gz: a script that prints what it is. */
function appArchive({ title, product, version }: Sample): Buffer {
  const contents = `${title}.app/Contents`;
  const info = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
  <key>CFBundleExecutable</key><string>${product}</string>
  <key>CFBundleIdentifier</key><string>com.example.homeport.${product}</string>
  <key>CFBundleName</key><string>${title}</string>
  <key>CFBundlePackageType</key><string>APPL</string>
  <key>CFBundleShortVersionString</key><string>${version}</string>
</dict></plist>
`;
  const archive = Buffer.concat([
    tarEntry(`${contents}/Info.plist`, 0o644, Buffer.from(info)),
    tarEntry(`${contents}/MacOS/${product}`, 0o755, Buffer.from(`#!/bin/sh\necho "${title} ${version}: a sample."\n`)),
    tarEntry(`${contents}/Resources/sample.bin`, 0o644, filler(`${title} ${version}`, FILE_BYTES)),
    Buffer.alloc(1024), // the archive's end
  ]);
  return gzipSync(archive);
}

/** One file of a ustar archive (POSIX.1-2017, pax, "ustar Interchange Format"). */
function tarEntry(name: string, mode: number, bytes: Buffer): Buffer {
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write(octal(mode, 7) + octal(0, 7) + octal(0, 7) + octal(bytes.length, 11) + octal(0, 11), 100);
  header.write("        0", 148); // the checksum counts as blanks; an ordinary file
  header.write("ustar\x0000", 257);
  const checksum = header.reduce((sum, byte) => sum + byte, 0);
  header.write(`${octal(checksum, 6)} `, 148);
  return Buffer.concat([header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);
}

/** Bytes that are always the same and cannot be compressed. */
function filler(seed: string, lengthBytes: number): Buffer {
  return createHash("shake256", { outputLength: lengthBytes }).update(seed).digest();
}
