import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { appxManifest, IDENTITY, msix, msixBundle } from "@/tests/support/releases/formats/msix";
import { zipOf } from "@/tests/support/releases/formats/zip";
import { build, expectRejected, newCatalog, newFolder, publish, releasesOf } from "@/tests/support/releases/publishing";

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
    expect(await identityOf("core.msix", msix(IDENTITY))).toMatchObject({ architecture: "neutral" });
  });

  test("may have any fourth number in its version", async () => {
    expect(await identityOf("core.msix", msix({ ...x64, Version: "1.4.0.77" }))).toMatchObject({ version: "1.4.0.77" });
  });

  test.each([
    ["random bytes", randomBytes(5_000), "not a zip file"],
    ["a file without its end", msix().subarray(0, -30), "not a zip file"],
    ["a file without its beginning", msix().subarray(20), "invalid central directory"],
    ["a ZIP file without a manifest", zipOf({ "app.exe": "MZ" }), "It has no AppxManifest.xml"],
    ["a bundle under a package's name", msixBundle(), "It has no AppxManifest.xml"],
    ["a huge manifest", zipOf({ "AppxManifest.xml": Buffer.alloc(5_000_000) }), "too large"],
    ["a manifest without an identity", zipOf({ "AppxManifest.xml": "<Package/>" }), "identity in AppxManifest.xml"],
    ["a short name", msix({ ...x64, Name: "ab" }), "identity in AppxManifest.xml"],
    ["a version of three numbers", msix({ ...x64, Version: "1.4.0" }), "identity in AppxManifest.xml"],
    ["an unknown architecture", msix({ ...x64, ProcessorArchitecture: "mips" }), "identity in AppxManifest.xml"],
    ["another version", msix({ ...x64, Version: "1.4.1.0" }), "core.msix has the version 1.4.1.0, not 1.4.0"],
    ["another architecture", msix({ ...x64, ProcessorArchitecture: "arm64" }), "is for arm64, not for x64"],
    // ASVS 5.2.3
  ])("is rejected for %s", async (_, bytes, reason) => {
    const testFolder = await newCatalog();
    const file = await build(testFolder, "core.msix", bytes);
    await expectRejected(testFolder, () => publish(testFolder, file, "1.4.0", { kinds: ["update"] }), reason);
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
  ["sections that never end", `<Package>${"<![CDATA[".repeat(100_000)}`],
  ["elements in each other", "<Package>".repeat(100_000)],
  [
    "entities of its own",
    `<!DOCTYPE a [<!ENTITY a "${"b".repeat(1_000)}">]><Package><Identity Name="${"&a;".repeat(9_000)}"/></Package>`,
  ],
  ["nothing", ""],
])("a manifest of %s is refused", async (_, manifest) => {
  const published = identityOf("core.msix", zipOf({ "AppxManifest.xml": manifest }));
  await expect(published).rejects.toThrow("is not an MSIX package");
});
