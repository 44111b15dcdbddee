import { crc32, deflateRawSync } from "node:zlib";

export type ZipOptions = {
  /** In 64-bit fields, as makeappx writes them. */
  zip64?: boolean;
  stored?: boolean;
  comment?: string;
};

const u16 = (value: number) => Buffer.from(Uint16Array.of(value).buffer);
const u32 = (value: number) => Buffer.from(Uint32Array.of(value).buffer);
const u64 = (value: number) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);

/** A ZIP file with these files (PKWARE APPNOTE 6.3.10, section 4.3). */
export function zipOf(files: Record<string, string | Uint8Array>, options: ZipOptions = {}): Buffer {
  const { zip64 = false, stored = false, comment = "" } = options;
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const bytes = Buffer.from(content);
    const data = stored ? bytes : deflateRawSync(bytes);
    const method = u16(stored ? 0 : 8);
    const crc = u32(crc32(bytes));
    const sizes = zip64 ? [u32(0xffffffff), u32(0xffffffff)] : [u32(data.length), u32(bytes.length)];
    const extra = zip64
      ? Buffer.concat([u16(1), u16(24), u64(bytes.length), u64(data.length), u64(offset)])
      : Buffer.of();
    const common = [u16(45), u16(0), method, u32(0), crc, ...sizes, u16(Buffer.byteLength(name)), u16(extra.length)];
    const local = Buffer.concat([u32(0x04034b50), ...common, Buffer.from(name), extra, data]);
    const rest = [u16(0), u16(0), u16(0), u32(0), u32(zip64 ? 0xffffffff : offset)];
    directory.push(u32(0x02014b50), u16(45), ...common, ...rest, Buffer.from(name), extra);
    parts.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const count = Object.keys(files).length;
  const end64 = [
    u32(0x06064b50),
    u64(44),
    u16(45),
    u16(45),
    u32(0),
    u32(0),
    u64(count),
    u64(count),
    u64(central.length),
    u64(offset),
  ];
  const locator = [u32(0x07064b50), u32(0), u64(offset + central.length), u32(1)];
  const end = [u32(0x06054b50), u16(0), u16(0), u16(count), u16(count), u32(zip64 ? 0xffffffff : central.length)];
  const tail = [...end, u32(zip64 ? 0xffffffff : offset), u16(comment.length), Buffer.from(comment)];
  return Buffer.concat([...parts, central, ...(zip64 ? [...end64, ...locator] : []), ...tail]);
}
