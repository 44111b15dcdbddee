import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { dataDirWithVersions, updateFrom } from "@/tests/support/electron/differential";
import { anyDatabase, startForTest } from "@/tests/support/process/service";

const MIB = 1024 * 1024;
const PIECE_BYTES = 66_000;

const serve = async (...versions: [Buffer, Buffer]) =>
  startForTest({ DATA_DIR: await dataDirWithVersions(...versions), ...(await anyDatabase()) });

/** Bytes without a pattern, the same in each run: their values decide how large the blocks are. */
const bytesOf = (seed: number, outputLength: number) =>
  createHash("shake256", { outputLength }).update(String(seed)).digest();

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

test("electron-updater downloads 450 changed blocks by one request", async () => {
  const pieces = Array.from({ length: 451 }, (_, i) => bytesOf(i, PIECE_BYTES));
  const before = Buffer.concat(pieces);
  const after = Buffer.concat(pieces.flatMap((piece, i) => (i === 0 ? [piece] : [Buffer.from(`<${i}>`), piece])));
  const { installer, sentBytes } = await updateFrom(await serve(before, after), before);
  expect(sha256(installer)).toBe(sha256(after));
  expect(sentBytes / after.length).toBeLessThan(0.55); // without several ranges, all of it
});
