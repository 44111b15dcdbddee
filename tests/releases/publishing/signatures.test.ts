import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { DraftFile } from "@/lib/releases/publishing/draft";
import {
  build,
  type Change,
  expectRejected,
  newCatalog,
  publish,
  type TestFolder,
} from "@/tests/support/releases/publishing";
import { newSigningKey } from "@/tests/support/releases/signing";
import { hasCommands } from "@/tests/support/requirements";

const run = promisify(execFile);

describe("a signature", () => {
  const bytes = randomBytes(10_000);
  const key = newSigningKey();
  const comment = "timestamp:1793786400\tfile:Ops_1.5.0_x64-setup.exe\tversion:1.5.0";
  const NAME = "Ops_1.5.0_x64-setup.exe";
  const keys = { minisign: key.minisignKey, ed: key.edKey };

  async function sign(
    testFolder: TestFolder,
    artifact: NonNullable<DraftFile["artifact"]>,
    change: Change & { name?: string } = {},
  ) {
    const { name = NAME, ...rest } = change;
    return publish(testFolder, await build(testFolder, name, bytes), "1.5.0", { ...rest, artifact });
  }

  test("is verified by a public key that is set once, in the formats of minisign, Tauri and Sparkle", async () => {
    const pub = `untrusted comment: minisign public key 1\n${key.minisignKey}\n`;
    for (const minisign of [key.minisignKey, pub, Buffer.from(pub).toString("base64")]) {
      const testFolder = await newCatalog();
      const artifact = { minisign: key.minisign(bytes, comment), edSignature: key.ed(bytes) };
      expect((await sign(testFolder, artifact, { publicKeys: { minisign, ed: key.edKey } })).notes).toEqual([]);
      expect(JSON.parse(await readFile(testFolder.manifest, "utf8")).publicKeys).toEqual({ core: keys });
      const legacy = { minisign: key.minisign(bytes, comment, true) };
      expect(await sign(testFolder, legacy)).toMatchObject({ outcome: "changed", notes: [] });
    }
  });

  test.each([
    ["another file", () => ({ minisign: key.minisign(randomBytes(9), comment) }), "does not match"],
    ["another key", () => ({ minisign: newSigningKey().minisign(bytes, comment) }), "by the key"],
    [
      "a changed trusted comment",
      () => ({ minisign: key.minisign(bytes, comment).replace("17937", "17938") }),
      "does not match",
    ],
    [
      "another version's file",
      () => ({ minisign: key.minisign(bytes, comment.replaceAll("1.5.0", "1.4.0")) }),
      "another version",
    ],
    ...(["1.5.0-beta.1", "1.5.0+1", "1.5", "1.5.0 ", "x1.5.0", ""].map((version) => [
      `the version "${version}"`,
      () => ({ minisign: key.minisign(bytes, `file:Ops_1.5.0_x64-setup.exe\tversion:${version}`) }),
      "another version",
    ]) as [string, () => object, string][]),
    ["another file for Sparkle", () => ({ edSignature: key.ed(randomBytes(9)) }), "does not match"],
  ])("of %s is rejected", async (_, artifact, reason) => {
    const testFolder = await newCatalog();
    await expectRejected(testFolder, () => sign(testFolder, artifact(), { publicKeys: keys }), reason);
  });

  test("of a version that is a prefix of this one is rejected", async () => {
    const testFolder = await newCatalog();
    const artifact = { minisign: key.minisign(bytes, "file:setup_1.5.1_x64.exe") };
    const file = await build(testFolder, "setup_1.5.1_x64.exe", bytes);
    const publishing = () => publish(testFolder, file, "1.5.10", { artifact, publicKeys: keys });
    await expectRejected(testFolder, publishing, "another version");
  });

  test.each([
    ["1.5.0-beta.1", "Ops_1.5.0-beta.1_x64-setup.exe", true],
    ["1.5.0-beta.1", "Ops_1.5.0_x64-setup.exe", true], // an MSI has no prerelease
    ["1.5.0", "Ops_1.5.0-x64.exe", true],
    ["1.5.0+7", "Ops_1.5.0_x64-setup.exe", true],
    ["1.5.0", "Ops.app.tar.gz", true], // Tauri's name for macOS
    ["1.5.0-beta.1", "Ops_1.5.0-beta.10_x64-setup.exe", false],
    ["1.5.0", "Ops_1.5.0-beta.1_x64-setup.exe", false],
  ])("for %s of the file %s, as Tauri names it: valid %s", async (version, name, isValid) => {
    const testFolder = await newCatalog();
    const artifact = { minisign: key.minisign(bytes, `timestamp:1793786400\tfile:${name}`) };
    const change = { artifact, publicKeys: keys, release: { channel: "beta" } };
    const publishing = async () => publish(testFolder, await build(testFolder, "Ops.exe", bytes), version, change);
    const note = `The signature of Ops.exe does not name the version: apps of core for windows x64 with Tauri's requireSignedVersion will refuse ${version}. Sign it with Tauri's CLI 2.11.5 or newer.`;
    if (isValid) expect((await publishing()).notes).toEqual([note]);
    else await expectRejected(testFolder, publishing, "another version");
  });

  test("of a delta is verified as that of a whole file", async () => {
    const testFolder = await newCatalog({ publicKeys: keys });
    const delta = randomBytes(500);
    const change = (edSignature: string): Change => ({ kinds: ["delta"], from: "1.4.0", artifact: { edSignature } });
    const file = await build(testFolder, "Ops1.5.0-1.4.0.delta", delta);
    await expectRejected(testFolder, () => publish(testFolder, file, "1.5.0", change(key.ed(bytes))), "does not match");
    expect((await publish(testFolder, file, "1.5.0", change(key.ed(delta)))).notes).toEqual([]);
  });

  test.each(["1.5.0", "v1.5.0"])("for %s, as Tauri's CLI names it since 2.11.5, is valid", async (version) => {
    const artifact = { minisign: key.minisign(bytes, `timestamp:1793786400\tfile:Ops.exe\tversion:${version}`) };
    expect((await sign(await newCatalog(), artifact, { publicKeys: keys })).notes).toEqual([]);
  });

  test("of a renamed file is valid if it can be verified", async () => {
    const testFolder = await newCatalog();
    const artifact = { minisign: key.minisign(bytes, comment) };
    expect((await sign(testFolder, artifact, { publicKeys: keys, name: "setup.exe" })).notes).toEqual([]);
  });

  test("without a public key is reported as not verified, and compared by comment and key id", async () => {
    const testFolder = await newCatalog();
    const minisign = key.minisign(randomBytes(9), comment);
    await expectRejected(testFolder, () => sign(testFolder, { minisign }, { name: "setup.exe" }), "another file");
    const later = minisign.replaceAll("1.5.0", "1.6.0");
    await expectRejected(testFolder, () => sign(testFolder, { minisign: later }), "another version");
    const { notes } = await sign(testFolder, { minisign, edSignature: key.ed(randomBytes(9)) });
    expect(notes).toEqual([expect.stringContaining("--minisign-key"), expect.stringContaining("--ed-key")]);
    const file = await build(testFolder, "setup-1.6.0.exe");
    const other = { artifact: { minisign: newSigningKey().minisign(bytes, "x") } };
    await expectRejected(testFolder, () => publish(testFolder, file, "1.6.0", other), /by the key .* --new/);
    await publish(testFolder, file, "1.6.0", { ...other, confirmations: { isNew: true } });
  });

  test("by a new public key needs a confirmation, which replaces the product's key", async () => {
    const testFolder = await newCatalog({ publicKeys: keys });
    const next = newSigningKey();
    const replace = (confirmations = {}) =>
      sign(testFolder, { edSignature: next.ed(bytes) }, { publicKeys: { ed: next.edKey }, confirmations });
    await expectRejected(testFolder, replace, "Confirm a new key with --new");
    await replace({ isNew: true });
    await expectRejected(testFolder, () => sign(testFolder, { edSignature: key.ed(bytes) }), "does not match");
    const wrong = { publicKeys: { minisign: "RWQ" } };
    await expectRejected(testFolder, () => sign(testFolder, {}, wrong), "Must be a minisign public key");
    const odd = { release: { product: "constructor" }, confirmations: { isNew: true } };
    expect((await publish(testFolder, await build(testFolder, "c.exe"), "1.0.0", odd)).outcome).toBe("added");
  });

  // Debian's minisign; .ci/run installs it.
  test.runIf(hasCommands("minisign"))("of minisign itself is verified", async () => {
    const testFolder = await newCatalog();
    const [file, pub, secret] = [
      await build(testFolder, NAME, bytes),
      ...["team.pub", "team.key"].map((name) => path.join(testFolder.folder, name)),
    ];
    await run("minisign", ["-G", "-W", "-p", pub ?? "", "-s", secret ?? ""]);
    for (const format of [["-H"], ["-l"]]) {
      await run("minisign", ["-S", ...format, "-t", "version:1.5.0", "-s", secret ?? "", "-m", file]);
      const minisign = await readFile(`${file}.minisig`, "utf8");
      const publicKeys = { minisign: await readFile(pub ?? "", "utf8") };
      expect((await publish(testFolder, file, "1.5.0", { artifact: { minisign }, publicKeys })).notes).toEqual([]);
    }
  });
});
