import { createHash, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { dataDirWithVersions, updateFrom } from "@/tests/support/electron/differential";
import { startForTest } from "@/tests/support/process/service";

const MIB = 1024 * 1024;

const serve = async (...versions: [Buffer, Buffer]) =>
  startForTest({ DATA_DIR: await dataDirWithVersions(...versions) });

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

test("electron-updater downloads a tenth of 30 MiB of which 3 % have changed", async () => {
  const before = randomBytes(30 * MIB);
  const after = Buffer.from(before);
  for (let i = 0; i < 30; i++) randomBytes(31_457).copy(after, i * MIB + 500_000);
  const { installer, sentBytes } = await updateFrom(await serve(before, after), before);
  expect(sha256(installer)).toBe(sha256(after));
  expect(sentBytes / after.length).toBeLessThan(0.1);
  expect(sentBytes / after.length).toBeGreaterThan(0.03);
});

test("electron-updater downloads 450 changed blocks by one request", async () => {
  const before = randomBytes(30 * MIB);
  const pieces: Buffer[] = [];
  for (let i = 0; i < 450; i++) pieces.push(before.subarray(i * 66_000, (i + 1) * 66_000), Buffer.from(`<${i}>`));
  const after = Buffer.concat([...pieces, before.subarray(450 * 66_000)]);
  const { installer, sentBytes } = await updateFrom(await serve(before, after), before);
  expect(sha256(installer)).toBe(sha256(after));
  expect(sentBytes).toBeLessThan(after.length / 2);
});
