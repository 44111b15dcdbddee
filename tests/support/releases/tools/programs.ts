const MACHINES = {
  x64: { elf: 0x3e, pe: 0x8664, machO: 0x01000007 },
  arm64: { elf: 0xb7, pe: 0xaa64, machO: 0x0100000c },
  i386: { elf: 0x03, pe: 0x014c, machO: 7 },
  armv7l: { elf: 0x28, pe: 0x01c4, machO: 12 },
} as const;
type Machine = keyof typeof MACHINES;
const PROGRAM_BYTES = 1024;

export function machO(machine: Machine): Buffer {
  const bytes = Buffer.alloc(PROGRAM_BYTES);
  bytes.writeUInt32LE(0xfeedfacf, 0);
  bytes.writeUInt32LE(MACHINES[machine].machO, 4);
  return bytes;
}

/** The header of a universal Mach-O program, for x64 and arm64. */
export function fat(): Buffer {
  const bytes = Buffer.alloc(PROGRAM_BYTES);
  bytes.writeUInt32BE(0xcafebabe, 0);
  bytes.writeUInt32BE(2, 4);
  bytes.writeUInt32BE(MACHINES.x64.machO, 8);
  bytes.writeUInt32BE(MACHINES.arm64.machO, 28);
  return bytes;
}

export function pe(machine: Machine): Buffer {
  const bytes = Buffer.alloc(PROGRAM_BYTES);
  bytes.write("MZ", 0);
  bytes.writeUInt32LE(128, 0x3c);
  bytes.write("PE\0\0", 128, "latin1");
  bytes.writeUInt16LE(MACHINES[machine].pe, 132);
  return bytes;
}

export function elf(machine: Machine): Buffer {
  const bytes = Buffer.alloc(PROGRAM_BYTES);
  bytes.writeUInt32BE(0x7f454c46, 0);
  bytes.writeUInt16LE(MACHINES[machine].elf, 18);
  return bytes;
}

export function tarOf(files: Record<string, Buffer>): Buffer {
  const parts = Object.entries(files).map(([name, content]) => {
    const header = Buffer.alloc(512);
    header.write(name, 0);
    header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
    return Buffer.concat([header, content, Buffer.alloc(-content.length & 511)]);
  });
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}
