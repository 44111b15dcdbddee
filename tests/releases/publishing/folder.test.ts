import { createHash, randomBytes } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { draftFolder } from "@/lib/releases/publishing/folder/draft-folder";
import { formatVersion, type Release } from "@/lib/releases/schema";
import { zipOf } from "@/tests/support/releases/formats/zip";
import { publishAll, releasesOf, verify } from "@/tests/support/releases/publishing";
import { newSigningKey } from "@/tests/support/releases/signing";
import { blockMapOf } from "@/tests/support/releases/tools/block-map";
import { nupkg } from "@/tests/support/releases/tools/nupkg";
import { newOutput, writeElectronUpdate, writeVelopack } from "@/tests/support/releases/tools/output";

type Output = Awaited<ReturnType<typeof newOutput>>;

/** What the catalog then has: platform, architecture, version, channel and the files by kind. */
async function published(output: Output, change: object = {}) {
  const { drafts } = await output.drafts(change);
  await publishAll(output, drafts);
  expect((await verify(output)).filter(({ problem }) => problem !== null)).toEqual([]);
  return (await releasesOf(output)).map(summaryOf);
}

const expectIncomplete = (output: Output, missing: string) =>
  expect(output.drafts()).rejects.toMatchObject({
    code: "folder_incomplete",
    message: expect.stringContaining(missing),
  });

function summaryOf({ platform, architecture, version, channel, artifacts }: Release) {
  const { installer, update, others, deltas } = artifacts;
  const files = { installer: installer?.fileName, update: update?.fileName };
  return [
    [platform, architecture, formatVersion(version), channel].join(" "),
    {
      ...files,
      others: others.map(({ fileName }) => fileName),
      deltas: deltas.map((one) => `${one.from} ${one.fileName}`),
    },
  ];
}

const NONE = { others: [], deltas: [] };

describe("the folder of electron-builder", () => {
  const SETUP = "Example Setup 1.4.0.exe";

  async function electron() {
    const output = await newOutput();
    await writeElectronUpdate(output, "latest.yml", "1.4.0", [SETUP], { releaseNotes: "Faster" });
    await writeElectronUpdate(output, "latest-mac.yml", "1.4.0", [
      "Example-1.4.0-mac.zip",
      "Example-1.4.0-arm64-mac.zip",
      "Example-1.4.0.dmg",
      "Example-1.4.0-arm64.dmg",
    ]);
    await writeElectronUpdate(output, "latest-linux.yml", "1.4.0", [
      "Example-1.4.0.AppImage",
      "example_1.4.0_amd64.deb",
    ]);
    await writeElectronUpdate(output, "latest-linux-arm64.yml", "1.4.0", ["Example-1.4.0-arm64.AppImage"]);
    await output.write("builder-effective-config.yaml", "productName: Example\n");
    await output.write("win-unpacked/Example.exe");
    const setup = await readFile(path.join(output.folder, SETUP));
    await output.write(`${SETUP}.blockmap`, gzipSync(JSON.stringify(blockMapOf(setup))));
    return output;
  }

  test("is published on all platforms at once, with notes and channel", async () => {
    const output = await electron();
    await output.write("Example 1.4.0.msi");
    await output.write("Example Setup 1.3.0.exe");
    const { tool, notes } = await output.drafts();
    expect({ tool, notes }).toEqual({
      tool: "electron-builder",
      notes: ["Example Setup 1.3.0.exe is not published: it is not of this version."],
    });
    expect(await published(output)).toEqual([
      [
        "linux arm64 1.4.0 stable",
        { ...NONE, installer: "Example-1.4.0-arm64.AppImage", update: "Example-1.4.0-arm64.AppImage" },
      ],
      [
        "linux x64 1.4.0 stable",
        {
          ...NONE,
          installer: "Example-1.4.0.AppImage",
          update: "Example-1.4.0.AppImage",
          others: ["example_1.4.0_amd64.deb"],
        },
      ],
      ["macos x64 1.4.0 stable", { ...NONE, installer: "Example-1.4.0.dmg", update: "Example-1.4.0-mac.zip" }],
      [
        "macos arm64 1.4.0 stable",
        { ...NONE, installer: "Example-1.4.0-arm64.dmg", update: "Example-1.4.0-arm64-mac.zip" },
      ],
      ["windows x64 1.4.0 stable", { ...NONE, installer: SETUP, update: SETUP, others: ["Example 1.4.0.msi"] }],
    ]);
    const sizeBytes = (await readFile(path.join(output.folder, `${SETUP}.blockmap`))).length;
    const update = { blockMap: { sizeBytes } };
    expect(await releasesOf(output)).toMatchObject([{}, {}, {}, {}, { notes: "Faster", artifacts: { update } }]);
  });

  test("takes the channel from the file's name, and fields from the operator", async () => {
    const output = await newOutput();
    await writeElectronUpdate(output, "beta.yml", "2.0.0-beta.1", ["Example Setup 2.0.0-beta.1.exe"], {
      stagingPercentage: 20,
    });
    expect((await output.drafts()).drafts).toMatchObject([{ release: { channel: "beta", rollout: 20 } }]);
    const change = { channel: "nightly", fields: { rollout: 5, notes: undefined } };
    expect((await output.drafts(change)).drafts).toMatchObject([{ release: { channel: "nightly", rollout: 5 } }]);
  });

  test("may have any channel that electron-builder has, in capitals or with dashes", async () => {
    for (const [name, channel, architecture] of [
      ["feature-login.yml", "feature-login", "x64"],
      ["Beta.yml", "beta", "x64"],
      ["latest-arm64.yml", "stable", "arm64"],
    ] as const) {
      const output = await newOutput();
      await writeElectronUpdate(output, name, "2.0.0", ["Example Setup 2.0.0.exe"], { stagingPercentage: "20" });
      expect((await output.drafts()).drafts).toMatchObject([{ release: { channel, architecture, rollout: 20 } }]);
    }
  });

  test.each([
    ["a file of an update", "Example-1.4.0-arm64-mac.zip", "- Example-1.4.0-arm64-mac.zip"],
    ["an update file", "latest.yml", `- latest.yml, for ${SETUP}`],
    ["the file of a block map", SETUP, `- ${SETUP}`],
  ])("is refused without %s, which is named", async (_, name, expected) => {
    const output = await electron();
    await rm(path.join(output.folder, name));
    await expectIncomplete(output, expected);
  });

  test("is refused if a file is of another build, or a platform of another version", async () => {
    const output = await electron();
    await writeFile(path.join(output.folder, SETUP), randomBytes(500));
    await expect(publishAll(output, (await output.drafts()).drafts)).rejects.toMatchObject({
      code: "file_changed",
      message: expect.stringContaining("not the file that latest.yml describes"),
    });
    await writeElectronUpdate(output, "latest-mac.yml", "1.3.0", ["Example-1.3.0-mac.zip"]);
    await expect(output.drafts()).rejects.toThrow("latest-mac.yml of 1.3.0");
  });
});

describe("Tauri's folder", () => {
  const key = newSigningKey();
  const SETUP = "Example_1.4.0_x64-setup.exe";

  async function tauri() {
    const output = await newOutput("src-tauri/target/release/bundle");
    const sign = async (name: string) => {
      const bytes = await output.write(name);
      const signature = key.minisign(bytes, `timestamp:1793786400\tfile:${path.basename(name)}`);
      await output.write(`${name}.sig`, Buffer.from(signature).toString("base64"));
    };
    for (const name of [`nsis/${SETUP}`, "msi/Example_1.4.0_x64_en-US.msi"]) await sign(name);
    for (const name of ["macos/Example.app.tar.gz", "appimage/Example_1.4.0_amd64.AppImage"]) await sign(name);
    await output.write("dmg/Example_1.4.0_aarch64.dmg");
    await output.write("deb/Example_1.4.0_amd64.deb");
    await output.write("rpm/Example-1.4.0-1.x86_64.rpm");
    await output.write("macos/Example.app/Contents/Info.plist");
    return output;
  }

  test("is published with its signatures, which the product's key verifies", async () => {
    const output = await tauri();
    expect(await published(output, { publicKeys: { minisign: key.minisignKey } })).toEqual([
      [
        "linux x64 1.4.0 stable",
        {
          ...NONE,
          installer: "Example_1.4.0_amd64.AppImage",
          update: "Example_1.4.0_amd64.AppImage",
          others: ["Example_1.4.0_amd64.deb", "Example-1.4.0-1.x86_64.rpm"],
        },
      ],
      ["macos arm64 1.4.0 stable", { ...NONE, installer: "Example_1.4.0_aarch64.dmg", update: "Example.app.tar.gz" }],
      [
        "windows x64 1.4.0 stable",
        { ...NONE, installer: SETUP, update: SETUP, others: ["Example_1.4.0_x64_en-US.msi"] },
      ],
    ]);
    for (const { artifacts } of await releasesOf(output)) expect(artifacts.update?.minisign).toBeDefined();
  });

  test("leaves out the builds of earlier versions, by tauri.conf.json or --version", async () => {
    const output = await tauri();
    await output.write("nsis/Example_1.3.0_x64-setup.exe");
    await expect(output.drafts()).rejects.toThrow("has the versions 1.4.0, 1.3.0: set one with --version");
    const older = "nsis/Example_1.3.0_x64-setup.exe is not published: it is not of version 1.4.0.";
    expect((await output.drafts({ hints: { version: "1.4.0" } })).notes).toEqual([older]);
    await writeFile(path.join(output.folder, "../../../tauri.conf.json"), JSON.stringify({ version: "1.4.0" }));
    expect((await output.drafts()).notes).toEqual([older]);
  });

  test.each([
    ["a signature", `nsis/${SETUP}.sig`, `- nsis/${SETUP}.sig`],
    ["the file of a signature", "macos/Example.app.tar.gz", "- macos/Example.app.tar.gz"],
  ])("is refused without %s, which is named", async (_, name, expected) => {
    const output = await tauri();
    await rm(path.join(output.folder, name));
    await expectIncomplete(output, expected);
  });

  test("without a disk image needs --arch for the .app.tar.gz", async () => {
    const output = await tauri();
    await rm(path.join(output.folder, "dmg"), { recursive: true });
    await expect(output.drafts()).rejects.toThrow("set it with --arch");
    const { drafts } = await output.drafts({ hints: { architecture: "universal" } });
    expect(drafts).toMatchObject([{}, { release: { platform: "macos", architecture: "universal" } }, {}]);
  });
});

describe("Velopack's folder", () => {
  const fields = (version: string) => ({ id: "Acme", version, os: "linux", machineArchitecture: "arm64" });

  async function velopack() {
    const output = await newOutput();
    await writeVelopack(output, "linux", [
      { name: "Acme-1.3.0-linux-full.nupkg", fields: fields("1.3.0"), type: "Full" },
      { name: "Acme-1.4.0-linux-full.nupkg", fields: fields("1.4.0"), type: "Full" },
      { name: "Acme-1.4.0-linux-delta.nupkg", fields: fields("1.4.0"), type: "Delta" },
    ]);
    await output.write("Acme.AppImage");
    await output.write("assets.linux.json", JSON.stringify([{ RelativeFileName: "Acme.AppImage", Type: "Installer" }]));
    return output;
  }

  test("is published with the newest version's installer, package and delta", async () => {
    const output = await velopack();
    const files = { installer: "Acme.AppImage", update: "Acme-1.4.0-linux-full.nupkg", others: [] };
    const deltas = ["1.3.0 Acme-1.4.0-linux-delta.nupkg"];
    expect(await published(output)).toEqual([["linux arm64 1.4.0 stable", { ...files, deltas }]]);
    expect(await releasesOf(output)).toMatchObject([{ notes: "Faster" }]);
  });

  test("has names and notes with any characters", async () => {
    const output = await newOutput();
    const inside = { ...fields("1.4.0"), releaseNotes: "<![CDATA[a < b & c]]><!-- <version>9.9.9</version> -->" };
    await writeVelopack(output, "linux", [{ name: "Acme-1.4.0-full.nupkg", fields: inside, type: "Full" }]);
    expect((await output.drafts()).drafts).toMatchObject([{ release: { version: "1.4.0" } }]);
  });

  test("has a channel after its system", async () => {
    const output = await newOutput();
    const one = { ...fields("1.5.0-beta.1"), os: "win", machineArchitecture: "x64" };
    await writeVelopack(output, "win-beta", [
      { name: "Acme-1.5.0-beta.1-win-beta-full.nupkg", fields: one, type: "Full" },
    ]);
    await output.write("Acme-win-beta-Setup.exe");
    await output.write("Acme-win-beta-Portable.zip");
    const update = "Acme-1.5.0-beta.1-win-beta-full.nupkg";
    const others = ["Acme-win-beta-Portable.zip"];
    expect(await published(output)).toEqual([
      ["windows x64 1.5.0-beta.1 beta", { ...NONE, installer: "Acme-win-beta-Setup.exe", update, others }],
    ]);
  });

  test("may have a channel without a system", async () => {
    const output = await newOutput();
    const update = "Acme-1.4.0-stable-full.nupkg";
    await writeVelopack(output, "stable", [{ name: update, fields: fields("1.4.0"), type: "Full" }]);
    expect(await published(output)).toEqual([["linux arm64 1.4.0 stable", { ...NONE, update }]]);
    const { drafts } = await output.drafts({ channel: "beta" });
    await expect(publishAll(output, drafts)).rejects.toThrow("request releases.stable.json");
    const other = await newOutput();
    const inside = { ...fields("1.4.0"), id: "Other" };
    await writeVelopack(other, "production", [
      { name: "Other-1.4.0-production-full.nupkg", fields: inside, type: "Full" },
    ]);
    const moved = await other.drafts({ channel: "stable" });
    await expect(publishAll(other, moved.drafts)).rejects.toThrow("request releases.production.json");
  });

  test.each([
    ["version", { ...fields("1.3.9") }],
    ["id", { ...fields("1.4.0"), id: "Other" }],
  ])("is refused if the name of a package lies about its %s", async (_, inside) => {
    const output = await velopack();
    await output.write("Acme-1.4.0-linux-full.nupkg", nupkg(inside, randomBytes(10)));
    await expect(output.drafts()).rejects.toThrow("does not match its content");
  });

  test.each([
    ["a package that is no zip file", Buffer.from("MZ")],
    ["a nuspec that is too large", zipOf({ "Acme.nuspec": Buffer.alloc(2 * 1024 * 1024) })],
  ])("is refused with %s", async (_, bytes) => {
    const output = await velopack();
    await output.write("Acme-1.4.0-linux-full.nupkg", bytes);
    await expect(output.drafts()).rejects.toThrow("Acme-1.4.0-linux-full.nupkg is not a NuGet package");
  });

  test.each(["Acme.AppImage", "Acme-1.4.0-linux-delta.nupkg"])("is refused without %s", async (name) => {
    const output = await velopack();
    await rm(path.join(output.folder, name));
    await expectIncomplete(output, name);
  });
});

describe("the folder of Squirrel.Windows", () => {
  async function squirrel(version = "1.4.0") {
    const output = await newOutput("squirrel-windows-ia32");
    const lines = [];
    for (const [own, type] of [
      ["1.3.0", "full"],
      [version, "delta"],
      [version, "full"],
    ] as const) {
      const bytes = await output.write(
        `Acme-${own}-${type}.nupkg`,
        nupkg({ id: "Acme", version: own }, randomBytes(9)),
      );
      lines.push(
        `${createHash("sha1").update(bytes).digest("hex").toUpperCase()} Acme-${own}-${type}.nupkg ${bytes.length}`,
      );
    }
    await output.write("RELEASES", `\ufeff${lines.join("\r\n")}`);
    await output.write("Acme Setup.exe");
    return output;
  }

  test("is published with the newest version's setup, package and delta", async () => {
    const files = { installer: "Acme Setup.exe", update: "Acme-1.4.0-full.nupkg", others: [] };
    expect(await published(await squirrel(), { confirmations: { isNew: true } })).toEqual([
      ["windows ia32 1.4.0 stable", { ...files, deltas: ["1.3.0 Acme-1.4.0-delta.nupkg"] }],
    ]);
  });

  test("is refused without its setup or a package, and if a package is of another version", async () => {
    const output = await squirrel();
    await rm(path.join(output.folder, "Acme Setup.exe"));
    await rm(path.join(output.folder, "Acme-1.4.0-delta.nupkg"));
    await expect(output.drafts()).rejects.toThrow("- Acme-1.4.0-delta.nupkg\n  - Setup.exe");
    const other = await squirrel();
    const bytes = await readFile(path.join(other.folder, "Acme-1.3.0-full.nupkg"));
    await other.write("Acme-1.4.0-full.nupkg", bytes);
    await expect(other.drafts()).rejects.toThrow("the package is Acme 1.3.0");
  });
});

test("a folder of no tool is refused", async () => {
  const output = await newOutput();
  await output.write("setup.exe");
  await expect(output.drafts()).rejects.toMatchObject({ code: "folder_unknown" });
  await expect(
    draftFolder(path.join(output.folder, "setup.exe"), { product: "core", hints: {}, fields: {} }),
  ).rejects.toMatchObject({ code: "folder_unknown" });
});
