import { createHash } from "node:crypto";
import { crc32, gzipSync } from "node:zlib";

const FILE_BYTES = 256 * 1024;

export type SampleApp = { title: string; product: string; version: string };

type Entry = { name: string; mode: number; bytes: Buffer };

/** An MS-DOS program that prints its title and version. DOS does not load the filler after the program's image. */
export function dosInstaller({ title, version }: SampleApp): Buffer {
  // push cs; pop ds; mov dx, 14; mov ah, 9 (print up to the $); int 21h; mov ax, 4C00h (exit); int 21h
  const code = Buffer.from("0e1fba0e00b409cd21b8004ccd21", "hex");
  const text = Buffer.from(`${title} ${version}: a sample installer. It installs nothing.\r\n$`, "ascii");
  const header = Buffer.alloc(32);
  const imageBytes = header.length + code.length + text.length;
  header.write("MZ");
  header.writeUInt16LE(imageBytes % 512, 2);
  header.writeUInt16LE(Math.ceil(imageBytes / 512), 4); // pages of 512 bytes
  header.writeUInt16LE(header.length / 16, 8); // paragraphs of 16 bytes
  header.writeUInt16LE(64, 10); // paragraphs needed beyond the image, for the stack
  header.writeUInt16LE(0xffff, 12);
  header.writeUInt16LE(1024, 16); // initial stack pointer, in the program's segment
  header.writeUInt16LE(28, 24); // offset of the relocation table, which is empty
  return Buffer.concat([header, code, text, filler(`${title} ${version}`, FILE_BYTES - imageBytes)]);
}

/** A macOS application in a .tar.gz: a script that prints its title and version. */
export function macAppTarball(app: SampleApp): Buffer {
  return gzipSync(Buffer.concat([...appEntries(app).map(tarEntry), Buffer.alloc(1024)])); // end of the archive
}

/** The same application in a .zip without compression (PKWARE APPNOTE 6.3.10, section 4.3). */
export function macAppZip(app: SampleApp): Buffer {
  const local: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const { name, mode, bytes } of appEntries(app)) {
    const common = Buffer.alloc(26);
    common.writeUInt16LE(10, 0); // version needed
    common.writeUInt16LE(0x0800, 2); // names are UTF-8
    common.writeUInt16LE(0x21, 8); // 1 January 1980, the earliest DOS date
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(bytes.length, 14);
    common.writeUInt32LE(bytes.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE((0o100000 | mode) * 0x10000, 6); // a regular file with Unix permissions
    rest.writeUInt32LE(offset, 10);
    central.push(Buffer.from("504b0102", "hex"), Buffer.from([10, 3]), common, rest, Buffer.from(name));
    local.push(Buffer.from("504b0304", "hex"), common, Buffer.from(name), bytes);
    offset += 30 + Buffer.byteLength(name) + bytes.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write("504b0506", "hex");
  end.writeUInt16LE(central.length / 5, 8);
  end.writeUInt16LE(central.length / 5, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...local, directory, end]);
}

function appEntries({ title, product, version }: SampleApp): Entry[] {
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
  const script = `#!/bin/sh\necho "${title} ${version}: a sample."\n`;
  return [
    { name: `${contents}/Info.plist`, mode: 0o644, bytes: Buffer.from(info) },
    { name: `${contents}/MacOS/${product}`, mode: 0o755, bytes: Buffer.from(script) },
    { name: `${contents}/Resources/sample.bin`, mode: 0o644, bytes: filler(`${title} ${version}`, FILE_BYTES) },
  ];
}

/** One file of a ustar archive (POSIX.1-2017, pax, "ustar Interchange Format"). */
function tarEntry({ name, mode, bytes }: Entry): Buffer {
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write(octal(mode, 7) + octal(0, 7) + octal(0, 7) + octal(bytes.length, 11) + octal(0, 11), 100);
  header.write("        0", 148); // the checksum field counts as spaces; type 0 is a regular file
  header.write("ustar\x0000", 257);
  const checksum = header.reduce((sum, byte) => sum + byte, 0);
  header.write(`${octal(checksum, 6)} `, 148);
  return Buffer.concat([header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);
}

/** Incompressible bytes, the same for every run. */
function filler(seed: string, lengthBytes: number): Buffer {
  return createHash("shake256", { outputLength: lengthBytes }).update(seed).digest();
}
