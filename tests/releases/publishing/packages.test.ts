import { createHash, randomBytes } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { expect, test } from "vitest";
import {
  build,
  type Change,
  expectRejected,
  newCatalog,
  newFolder,
  publish,
  releasesOf,
} from "@/tests/support/releases/publishing";

const LINUX: Change = { release: { platform: "linux" } };

/** An AppImage as electron-builder makes it: the block map and its length come last. */
function appImage(blockMap: Buffer, length = blockMap.length): Buffer {
  const lengthBytes = Buffer.alloc(4);
  lengthBytes.writeUInt32BE(length);
  return Buffer.concat([randomBytes(1000), blockMap, lengthBytes]);
}

const BLOCK_MAP = deflateRawSync(JSON.stringify({ version: "2", files: [] }));

test("a .nupkg is published with its SHA-1, which Squirrel.Windows and Velopack verify", async () => {
  const testFolder = await newFolder();
  const bytes = randomBytes(1000);
  await publish(testFolder, await build(testFolder, "Acme-1.0.0-full.nupkg", bytes), "1.0.0", { kinds: ["update"] });
  const [release] = await releasesOf(testFolder);
  expect(release?.artifacts.update?.sha1).toBe(createHash("sha1").update(bytes).digest("hex"));
});

test.each([
  ["another version", "Acme-1.0.1-full.nupkg"],
  ["a prerelease of the version", "Acme-1.5.0-1-full.nupkg"],
  ["a delta as an update", "Acme-1.5.0-delta.nupkg"],
  ["no kind of package", "Acme-1.5.0.nupkg"],
])("a .nupkg that is named after %s is rejected", async (_, name) => {
  const testFolder = await newCatalog();
  const file = await build(testFolder, name);
  await expectRejected(
    testFolder,
    () => publish(testFolder, file, "1.5.0", { kinds: ["update"] }),
    `${name} is not the name of a full package of version 1.5.0, such as Acme-1.5.0-full.nupkg.`,
  );
});

test("a .nupkg may be named as Squirrel.Windows names a prerelease, or with Velopack's channel", async () => {
  const testFolder = await newCatalog();
  for (const name of ["Acme-1.5.0-beta1-full.nupkg", "Acme-1.5.0-beta.1-win-beta-full.nupkg"]) {
    const change: Change = { kinds: ["other"], release: { channel: "beta" } };
    await publish(testFolder, await build(testFolder, name), "1.5.0-beta.1", change);
  }
  const delta = await build(testFolder, "Acme-1.5.0-delta.nupkg");
  await publish(testFolder, delta, "1.5.0", { kinds: ["delta"], from: "1.4.0" });
  expect((await releasesOf(testFolder)).map(({ artifacts }) => artifacts.others.length)).toEqual([0, 2, 0]);
});

test("a package is refused if the feed that its apps request cannot name it", async () => {
  const testFolder = await newCatalog();
  const add = async (name: string, version: string, release: object = {}) =>
    publish(testFolder, await build(testFolder, name), version, {
      kinds: ["update"],
      confirmations: { isNew: true },
      release,
    });
  await add("Acme-1.5.0-stable-full.nupkg", "1.5.0");
  await add("Acme-1.5.1-nightly-full.nupkg", "1.5.1", { channel: "nightly", rollout: 0 });
  await expectRejected(
    testFolder,
    () => add("Acme-1.6.0-production-full.nupkg", "1.6.0"),
    "request releases.production.json, which would never name a release of the channel stable for windows x64",
  );
  await expectRejected(
    testFolder,
    () => add("Acme-1.6.0-win-arm64-full.nupkg", "1.6.0", { architecture: "ia32" }),
    "win-arm64",
  );
  await expectRejected(
    testFolder,
    () => add("Acme-1.6.0-full.nupkg", "1.6.0", { architecture: "universal" }),
    "releases.win.json",
  );
});

test.each([
  ["a block map", appImage(BLOCK_MAP), BLOCK_MAP.length],
  ["none", randomBytes(1000), undefined],
  ["a length of nothing", appImage(Buffer.alloc(0)), undefined],
  ["a length beyond the file", appImage(BLOCK_MAP, 2_000_000), undefined],
  ["a length beyond every file", appImage(BLOCK_MAP, 0xffffffff), undefined],
  ["other bytes", appImage(Buffer.from("not compressed")), undefined],
  ["another document", appImage(deflateRawSync("[]")), undefined],
  ["a bomb", appImage(deflateRawSync(Buffer.alloc(64 * 1024 * 1024))), undefined],
  ["two bytes", Buffer.from("MZ"), undefined],
])("an AppImage with %s at its end", async (_, bytes, size) => {
  const testFolder = await newFolder();
  await publish(testFolder, await build(testFolder, "Acme.AppImage", bytes), "1.0.0", LINUX);
  const [release] = await releasesOf(testFolder);
  expect(release?.artifacts.installer?.embeddedBlockMapBytes).toBe(size);
});
