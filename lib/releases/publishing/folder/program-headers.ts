/** How many bytes of a program `architectureOfProgram` needs. */
export const MAX_HEADER_BYTES = 8192;

const ELF = new Map([
  [0x03, "ia32"],
  [0x28, "armv7l"],
  [0x3e, "x64"],
  [0xb7, "arm64"],
]);
const PE = new Map([
  [0x8664, "x64"],
  [0xaa64, "arm64"],
]);
const MACH_O = new Map([
  [0x01000007, "x64"],
  [0x0100000c, "arm64"],
]);

/**
 * The architecture that the header of an ELF, PE or Mach-O program names. Undefined if there is none, and for PE's i386:
 * installers for every architecture and programs of .NET have it.
 */
export function architectureOfProgram(bytes: Buffer): string | undefined {
  if (bytes.length < 64) return undefined;
  const magic = bytes.readUInt32BE(0);
  if (magic === 0x7f454c46) return ELF.get(bytes.readUInt16LE(18));
  if (magic === 0xcffaedfe) return MACH_O.get(bytes.readUInt32LE(4));
  if (magic === 0xcafebabe || magic === 0xcafebabf) return architectureOfFat(bytes, magic === 0xcafebabe ? 20 : 32);
  return bytes.toString("latin1", 0, 2) === "MZ" ? architectureOfPe(bytes) : undefined;
}

function architectureOfPe(bytes: Buffer): string | undefined {
  const offset = bytes.readUInt32LE(0x3c);
  if (offset + 6 > bytes.length || bytes.toString("latin1", offset, offset + 4) !== "PE\0\0") return undefined;
  return PE.get(bytes.readUInt16LE(offset + 4));
}

/** A universal program has one entry for each architecture (mach-o/fat.h). */
function architectureOfFat(bytes: Buffer, entryBytes: number): string | undefined {
  const count = Math.min(bytes.readUInt32BE(4), Math.floor((bytes.length - 12) / entryBytes), 32);
  const types = Array.from({ length: count }, (_, index) => MACH_O.get(bytes.readUInt32BE(8 + index * entryBytes)));
  const own = [...new Set(types.filter((type) => type !== undefined))];
  return own.length > 1 ? "universal" : own[0];
}
