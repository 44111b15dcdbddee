import { createCipheriv, createHash, randomBytes } from "node:crypto";
import { readFile, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import {
  build,
  type Change,
  expectRejected,
  filesIn,
  newCatalog,
  newFolder,
  publish,
  releasesOf,
  type TestFolder,
  verify,
} from "@/tests/support/releases/publishing";
import { type BlockMap, blockMapOf } from "@/tests/support/releases/tools/block-map";

/** Publishes a file as the Windows installer 1.0.0. Returns the block map that was stored. */
async function publishedMap(testFolder: TestFolder, name: string, bytes: Buffer, change: Change = {}) {
  await publish(testFolder, await build(testFolder, name, bytes), "1.0.0", change);
  const [release] = await releasesOf(testFolder);
  const { blockMap } = release?.artifacts.installer ?? {};
  if (!blockMap?.file) return { blockMap, json: null };
  const stored = await readFile(path.join(path.dirname(testFolder.manifest), blockMap.file));
  expect(blockMap).toMatchObject({
    sizeBytes: stored.length,
    sha256: createHash("sha256").update(stored).digest("hex"),
  });
  return { blockMap, json: gunzipSync(stored).toString(), stored };
}

// The hash is of what app-builder 4.2.0, electron-builder's own program, makes of the same bytes.
test("a new block map is that of electron-builder, byte for byte", async () => {
  const zeros = Buffer.alloc(50_000_000);
  const key = Buffer.from("00112233445566778899aabbccddeeff", "hex");
  const bytes = createCipheriv("aes-128-ctr", key, Buffer.alloc(16)).update(zeros);
  const { json } = await publishedMap(await newFolder(), "Setup.exe", bytes);
  expect(createHash("sha256").update(String(json)).digest("hex")).toBe(
    "f69fd4029f43a90c92f72303e60f8e6453987b9738a5c329c59bf4b0a68c184e",
  );
});

test.each([532_480, 600_000])("the blocks of a file of %i bytes add up to it", async (size) => {
  for (const bytes of [randomBytes(size), Buffer.alloc(size)]) {
    const { json } = await publishedMap(await newFolder(), "a.zip", bytes, { release: { platform: "macos" } });
    const [file] = (JSON.parse(String(json)) as BlockMap).files;
    expect(file?.sizes.reduce((sum, one) => sum + one, 0)).toBe(size);
    expect(Math.max(...(file?.sizes ?? []))).toBeLessThanOrEqual(32_768);
  }
});

test.each([
  ["Setup.msi", { platform: "windows" }],
  ["Example.dmg", { platform: "macos" }],
  ["Example.deb", { platform: "linux" }],
])("%s has none, since electron-updater does not download parts of it", async (name, release) => {
  const { blockMap } = await publishedMap(await newFolder(), name, randomBytes(600_000), { release });
  expect(blockMap).toBeUndefined();
});

test("a small file has none, since it is downloaded whole as fast", async () => {
  expect((await publishedMap(await newFolder(), "Setup.exe", randomBytes(524_287))).blockMap).toBeUndefined();
});

test("the block map beside the file is taken, or the one that is named", async () => {
  const [first, second] = [randomBytes(5000), randomBytes(10)];
  for (const name of ["Setup.exe.blockmap", "elsewhere.gz"]) {
    const testFolder = await newFolder();
    const own = gzipSync(JSON.stringify(blockMapOf(first, second)));
    const blockMapFile = await build(testFolder, name, own);
    const change = name === "elsewhere.gz" ? { blockMapFile } : {};
    const { stored } = await publishedMap(testFolder, "Setup.exe", Buffer.concat([first, second]), change);
    expect(stored?.equals(own)).toBe(true);
    const again = await publish(testFolder, path.join(testFolder.folder, "Setup.exe"), "1.0.0", change);
    expect(again.outcome).toBe("unchanged");
    expect((await filesIn(path.dirname(testFolder.manifest))).length).toBe(3);
  }
});

test("a file at a URL has its block map there, if that can be verified", async () => {
  const bytes = randomBytes(600_000);
  const change: Change = { destination: { kind: "url", url: "https://cdn.example.com/Setup.exe?v=1" } };
  expect((await publishedMap(await newFolder(), "Setup.exe", bytes, change)).blockMap).toBeUndefined();
  const testFolder = await newFolder();
  await build(testFolder, "Setup.exe.blockmap", gzipSync(JSON.stringify(blockMapOf(bytes))));
  const { blockMap } = await publishedMap(testFolder, "Setup.exe", bytes, change);
  expect(blockMap?.url).toBe("https://cdn.example.com/Setup.exe.blockmap?v=1");
});

const BYTES = randomBytes(600_000);
const whole = gzipSync(JSON.stringify(blockMapOf(BYTES)));
const [file] = blockMapOf(BYTES).files;

test.each<[string, Buffer, string]>([
  ["of another file", gzipSync(JSON.stringify(blockMapOf(randomBytes(600_000)))), "block map of another file"],
  ["of the beginning of the file", gzipSync(JSON.stringify(blockMapOf(BYTES.subarray(0, 599_999)))), "another file"],
  ["that is truncated", whole.subarray(0, -10), "is not a block map: unexpected end of file"],
  ["that is no gzip", Buffer.from("blocks"), "is not a block map: incorrect header check"],
  ["that is no JSON", gzipSync("blocks"), "is not a block map"],
  ["of another version", gzipSync(JSON.stringify({ version: "1", files: [file] })), "is not a block map: version"],
  ["of two files", gzipSync(JSON.stringify({ version: "2", files: [file, file] })), "is not a block map: files"],
  ["without sizes", gzipSync(JSON.stringify({ version: "2", files: [{ ...file, sizes: [] }] })), "needs a size"],
  ["that is a bomb", gzipSync(Buffer.alloc(80 * 1024 * 1024)), "is not a block map"],
  // ASVS 5.2.3
])("a block map %s is refused, and nothing is published", async (_, bytes, reason) => {
  const testFolder = await newCatalog();
  const update = await build(testFolder, "Update.exe", BYTES);
  await build(testFolder, "Update.exe.blockmap", bytes);
  await expectRejected(testFolder, () => publish(testFolder, update, "1.5.0"), reason);
});

test("a block map that is too large or missing is refused", async () => {
  const testFolder = await newCatalog();
  const update = await build(testFolder, "Update.exe", BYTES);
  await build(testFolder, "Update.exe.blockmap", whole);
  await truncate(`${update}.blockmap`, 100 * 1024 * 1024);
  await expectRejected(testFolder, () => publish(testFolder, update, "1.5.0"), "larger than 64 MiB");
  const missing: Change = { blockMapFile: path.join(testFolder.folder, "nope.blockmap") };
  await expectRejected(testFolder, () => publish(testFolder, update, "1.5.0", missing), "cannot be read");
});

test("a damaged block map is found by verification, and repaired by publishing again", async () => {
  const testFolder = await newFolder();
  const { blockMap } = await publishedMap(testFolder, "Setup.exe", BYTES);
  const stored = path.join(path.dirname(testFolder.manifest), blockMap?.file ?? "");
  await writeFile(stored, "damaged");
  expect((await verify(testFolder)).map(({ problem }) => problem)).toEqual([
    null,
    "the file differs from the catalog in sizeBytes, sha256",
  ]);
  await publish(testFolder, path.join(testFolder.folder, "Setup.exe"), "1.0.0");
  expect((await verify(testFolder)).map(({ problem }) => problem)).toEqual([null, null]);
});
