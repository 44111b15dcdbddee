import { crc32, deflateRawSync } from "node:zlib";

/** What a NuGet package says about itself. */
export type PackageFields = { id: string; version: string } & Record<string, string>;

/** A NuGet package as nuget.exe and vpk write it: a compressed zip file with a nuspec and a program. */
export function nupkg(fields: PackageFields, program: Uint8Array): Buffer {
  const metadata = Object.entries(fields).map(([name, value]) => `<${name}>${value}</${name}>`);
  const nuspec = `<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://schemas.microsoft.com/packaging/2010/07/nuspec.xsd">
  <metadata>${metadata.join("")}</metadata>
</package>`;
  return zipOf({
    "[Content_Types].xml": Buffer.from("<Types/>"),
    "lib/app/app.exe": program,
    [`${fields.id}.nuspec`]: Buffer.from(nuspec),
  });
}

/** A zip file (PKWARE APPNOTE 6.3.10, section 4.3). */
export function zipOf(files: Record<string, Uint8Array>): Buffer {
  const local: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const [name, bytes] of Object.entries(files)) {
    const data = deflateRawSync(bytes);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4); // deflate
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(bytes.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    central.push(Buffer.from("504b0102", "hex"), Buffer.from([20, 0]), common, rest, Buffer.from(name));
    local.push(Buffer.from("504b0304", "hex"), common, Buffer.from(name), data);
    offset += 30 + Buffer.byteLength(name) + data.length;
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
