import { createHash, randomBytes } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { appxManifest, IDENTITY, msix, msixBundle } from "@/tests/support/releases/formats/msix";
import { zipOf } from "@/tests/support/releases/formats/zip";
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
  ["a delta as an update", "Acme-1.5.0-delta.nupkg"],
  ["no kind of package", "Acme-1.5.0.nupkg"],
])("a .nupkg that is named after %s is rejected", async (_, name) => {
  const testFolder = await newCatalog();
  const file = await build(testFolder, name);
  const reason = `${name} is not the name of a full package of version 1.5.0, such as Acme-1.5.0-full.nupkg.`;
  await expectRejected(testFolder, () => publish(testFolder, file, "1.5.0", { kinds: ["update"] }), reason);
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

test("a .nupkg is refused if Squirrel.Windows has the same name for another version", async () => {
  const testFolder = await newCatalog();
  const add = async (version: string, name: string) => {
    const change: Change = { kinds: ["update"], release: { channel: "beta" } };
    await publish(testFolder, await build(testFolder, `Acme-${name}-full.nupkg`), version, change);
  };
  await add("1.5.0-beta.1.2", "1.5.0-beta12");
  const reason = "Squirrel.Windows calls both 1.5.0-beta.12 and 1.5.0-beta.1.2 1.5.0-beta12";
  await expectRejected(testFolder, () => add("1.5.0-beta.12", "1.5.0-beta12"), reason);
  await add("1.5.0-beta.12", "1.5.0-beta.12-win"); // Velopack knows the dots
  await add("1.5.0-beta.13", "1.5.0-beta13");
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
  const never = "releases.production.json, which would never name a release of the channel stable for windows x64";
  for (const [name, architecture, reason] of [
    ["production-full", "x64", `request ${never}`],
    ["win-arm64-full", "ia32", "win-arm64"],
    ["full", "universal", "releases.win.json"],
  ] as const) {
    await expectRejected(testFolder, () => add(`Acme-1.6.0-${name}.nupkg`, "1.6.0", { architecture }), reason);
  }
});

test.each([
  ["a block map", appImage(BLOCK_MAP), BLOCK_MAP.length],
  ["none", randomBytes(1000), undefined],
  ["a length beyond the file", appImage(BLOCK_MAP, 2_000_000), undefined],
  ["other bytes", appImage(Buffer.from("not compressed")), undefined],
  ["another document", appImage(deflateRawSync("[]")), undefined],
  ["a bomb", appImage(deflateRawSync(Buffer.alloc(64 * 1024 * 1024))), undefined],
])("an AppImage with %s at its end", async (_, bytes, size) => {
  const testFolder = await newFolder();
  await publish(testFolder, await build(testFolder, "Acme.AppImage", bytes), "1.0.0", LINUX);
  const [release] = await releasesOf(testFolder);
  expect(release?.artifacts.installer?.embeddedBlockMapBytes).toBe(size);
});

const KNOWN = { name: "Example.Core", publisher: "CN=Example & Sons, O=Example", version: "1.4.0.0" };

/** The identity that the catalog has after a file was published. */
async function identityOf(fileName: string, bytes: Buffer) {
  const testFolder = await newFolder();
  await publish(testFolder, await build(testFolder, fileName, bytes), "1.4.0");
  const [release] = await releasesOf(testFolder);
  return { ...release?.artifacts.installer?.packageIdentity, type: release?.artifacts.installer?.contentType };
}

describe("an MSIX package", () => {
  const x64 = { ...IDENTITY, ProcessorArchitecture: "x64" };

  test.each([
    ["compressed", {}],
    ["stored, with a comment", { stored: true, comment: "signed" }],
    ["in 64-bit fields", { zip64: true }],
  ])("is published with the identity of its manifest (%s)", async (_, options) => {
    const identity = { ...KNOWN, architecture: "x64", type: "application/msix" };
    expect(await identityOf("core.msix", msix(x64, options))).toEqual(identity);
  });

  test("may be a bundle, which has no architecture, or neutral", async () => {
    const bundle = { ...KNOWN, architecture: null, type: "application/msixbundle" };
    expect(await identityOf("core.msixbundle", msixBundle())).toEqual(bundle);
    const neutral = { architecture: "neutral", version: "1.4.0.77" };
    expect(await identityOf("core.msix", msix({ ...IDENTITY, Version: neutral.version }))).toMatchObject(neutral);
  });

  test.each([
    ["random bytes", randomBytes(5_000), "not a zip file"],
    ["a file without its end", msix().subarray(0, -30), "not a zip file"],
    ["a file without its beginning", msix().subarray(20), "invalid central directory"],
    ["a ZIP file without a manifest", zipOf({ "app.exe": "MZ" }), "It has no AppxManifest.xml"],
    ["a huge manifest", zipOf({ "AppxManifest.xml": Buffer.alloc(5_000_000) }), "too large"],
    ["a manifest without an identity", zipOf({ "AppxManifest.xml": "<Package/>" }), "identity in AppxManifest.xml"],
    ["a version of three numbers", msix({ ...x64, Version: "1.4.0" }), "identity in AppxManifest.xml"],
    ["another version", msix({ ...x64, Version: "1.4.1.0" }), "core.msix has the version 1.4.1.0, not 1.4.0"],
    ["another architecture", msix({ ...x64, ProcessorArchitecture: "arm64" }), "is for arm64, not for x64"],
    // ASVS 5.2.3
  ])("is rejected for %s", async (_, bytes, reason) => {
    const testFolder = await newCatalog();
    const file = await build(testFolder, "core.msix", bytes);
    await expectRejected(testFolder, () => publish(testFolder, file, "1.4.0", { kinds: ["update"] }), reason);
  });

  test("has a higher version than the one that App Installer would update", async () => {
    const testFolder = await newFolder();
    const add = async (
      version: string,
      packaged: string,
      change: Change = { release: { channel: "beta" } },
      name = "",
    ) => {
      const identity = { ...x64, Name: `Example.Core${name}`, Version: packaged };
      await publish(testFolder, await build(testFolder, `core-${version}.msix`, msix(identity)), version, change);
    };
    await add("1.5.0-beta.1", "1.5.0.0");
    const again = () => add("1.5.0-beta.2", "1.5.0.0");
    const reason = "would not update core-windows-x64-1.5.0-beta.1 to core-1.5.0-beta.2.msix";
    await expectRejected(testFolder, again, reason);
    await add("1.5.0-beta.2", "1.5.0.2");
    await expectRejected(testFolder, () => add("1.5.0", "1.5.0.2", {}), "fourth number");
    await add("1.5.0-beta.3", "1.5.0.0", undefined, ".Preview");
    await add("1.4.0", "1.4.0.0", {});
    await add("1.5.0", "1.5.0.10", {});
  });

  test("has the identity outside comments only, with its entities resolved", async () => {
    const publisher = "CN=&quot;A &#38; B&quot;, O=&#x41;";
    const manifest = appxManifest({ ...x64, Publisher: publisher });
    expect(await identityOf("core.msix", zipOf({ "AppxManifest.xml": manifest }))).toMatchObject({
      name: "Example.Core",
      publisher: 'CN="A & B", O=A',
    });
  });
});

test.each<[string, string]>([
  ["comments that never end", "<!--".repeat(250_000)],
  ["elements in each other", "<Package>".repeat(100_000)],
  [
    "entities of its own",
    `<!DOCTYPE a [<!ENTITY a "${"b".repeat(1_000)}">]><Package><Identity Name="${"&a;".repeat(9_000)}"/></Package>`,
  ],
])("a manifest of %s is refused", async (_, manifest) => {
  const published = identityOf("core.msix", zipOf({ "AppxManifest.xml": manifest }));
  await expect(published).rejects.toThrow("is not an MSIX package");
});
