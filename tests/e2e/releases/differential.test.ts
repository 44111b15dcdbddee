import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { dataDirWithVersions, updateFrom } from "@/tests/support/electron/differential";
import { anyDatabase, startForTest } from "@/tests/support/process/service";

const PIECE_BYTES = 66_000;

/** Bytes without a pattern, the same in each run: their values decide how large the blocks are. */
const pieceOf = (seed: number) => createHash("shake256", { outputLength: PIECE_BYTES }).update(String(seed)).digest();

test("electron-updater downloads 450 changed blocks by one request", async () => {
  const pieces = Array.from({ length: 451 }, (_, i) => pieceOf(i));
  const before = Buffer.concat(pieces);
  const after = Buffer.concat(pieces.flatMap((piece, i) => (i === 0 ? [piece] : [Buffer.from(`<${i}>`), piece])));
  const DATA_DIR = await dataDirWithVersions(before, after);
  const { installer, sentBytes } = await updateFrom(await startForTest({ DATA_DIR, ...(await anyDatabase()) }), before);
  expect(installer.equals(after)).toBe(true);
  expect(sentBytes / after.length).toBeLessThan(0.55); // without several ranges, all of it
});
