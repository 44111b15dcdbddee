import { blake2b } from "@noble/hashes/blake2.js";

export type BlockMap = {
  version: string;
  files: { name: string; offset: number; checksums: string[]; sizes: number[] }[];
};

const checksum = (bytes: Uint8Array) => Buffer.from(blake2b(bytes, { dkLen: 18 })).toString("base64");

/** The block map of a file that consists of these blocks, as electron-builder has it before compression. */
export const blockMapOf = (...blocks: Uint8Array[]): BlockMap => ({
  version: "2",
  files: [{ name: "file", offset: 0, checksums: blocks.map(checksum), sizes: blocks.map(({ length }) => length) }],
});
