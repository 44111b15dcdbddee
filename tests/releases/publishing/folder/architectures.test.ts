import { rm } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { zipOf } from "@/tests/support/releases/formats/zip";
import { publish } from "@/tests/support/releases/publishing";
import { nupkg } from "@/tests/support/releases/tools/nupkg";
import { newOutput, writeElectronUpdate, writeVelopack } from "@/tests/support/releases/tools/output";
import { elf, fat, machO, pe, tarOf } from "@/tests/support/releases/tools/programs";

const PROGRAM = "Example.app/Contents/MacOS/Example";
const SEPARATELY = "publish the folder of each job on its own";

const appTar = (program: Buffer) =>
  gzipSync(tarOf({ "Example.app/Contents/Info.plist": Buffer.alloc(700), [PROGRAM]: program }));
const appZip = (program: Buffer) => zipOf({ "Example.app/Contents/Info.plist": "<plist/>", [PROGRAM]: program });

describe("Tauri's folder", () => {
  async function tauri(program: Buffer, images: readonly string[]) {
    const output = await newOutput();
    await output.write("macos/Example.app.tar.gz", appTar(program));
    await output.write("macos/Example.app.tar.gz.sig", "x");
    for (const name of images) await output.write(`dmg/Example_1.4.0_${name}.dmg`);
    return output;
  }

  test("of two jobs, whose apps have one name, is refused", async () => {
    const output = await tauri(machO("arm64"), ["aarch64", "x64"]);
    await expect(output.drafts()).rejects.toThrow(SEPARATELY);
    await expect(output.drafts({ hints: { architecture: "arm64" } })).rejects.toThrow(SEPARATELY);
  });

  test("is refused if the program is for another architecture than the disk image's name or --arch says", async () => {
    await expect((await tauri(machO("x64"), ["aarch64"])).drafts()).rejects.toThrow("holds a program for x64");
    const output = await tauri(machO("x64"), []);
    await expect(output.drafts({ hints: { version: "1.4.0", architecture: "arm64" } })).rejects.toThrow(
      "holds a program for x64",
    );
  });

  test("without a disk image has the program's architecture", async () => {
    for (const [program, architecture] of [
      [machO("x64"), "x64"],
      [machO("arm64"), "arm64"],
      [fat(), "universal"],
    ] as const) {
      const output = await tauri(program, []);
      const { drafts } = await output.drafts({ hints: { version: "1.4.0" } });
      expect(drafts).toMatchObject([{ release: { platform: "macos", architecture } }]);
    }
  });

  test("with a disk image alone is published with a note", async () => {
    const output = await tauri(fat(), ["aarch64"]);
    expect((await output.drafts()).notes).toEqual([]);
    await rm(path.join(output.folder, "macos"), { recursive: true });
    expect((await output.drafts()).notes).toContain(
      "Apps cannot update on macos arm64: the folder has no .zip or .app.tar.gz for it.",
    );
  });

  test("is refused if an AppImage or a .deb is for another architecture than its name says", async () => {
    const output = await newOutput();
    await output.write("appimage/Example_1.4.0_amd64.AppImage", elf("arm64"));
    await expect(output.drafts()).rejects.toThrow("holds a program for arm64");
    await output.write("appimage/Example_1.4.0_amd64.AppImage", elf("x64"));
    await output.drafts();
    const control = gzipSync(tarOf({ "./control": Buffer.from("Package: example\nArchitecture: arm64\n") }));
    const header = (name: string, size: number) => `${name.padEnd(48)}${String(size).padEnd(10)}\`\n`;
    const deb = [`!<arch>\n${header("debian-binary", 4)}2.0\n${header("control.tar.gz", control.length)}`, control];
    await output.write("deb/Example_1.4.0_amd64.deb", Buffer.concat(deb.map((part) => Buffer.from(part))));
    await expect(output.drafts()).rejects.toThrow("Example_1.4.0_amd64.deb holds a program for arm64");
  });
});

describe("the folder of electron-builder", () => {
  test("of two jobs is refused if latest-mac.yml does not name a file's architecture", async () => {
    const output = await newOutput();
    await output.write("Example-1.4.0-mac.zip", appZip(machO("x64")));
    await writeElectronUpdate(output, "latest-mac.yml", "1.4.0", ["Example-1.4.0-arm64-mac.zip"]);
    await expect(output.drafts()).rejects.toThrow(`Example-1.4.0-mac.zip is for x64, which latest-mac.yml`);
    await expect(output.drafts()).rejects.toThrow(SEPARATELY);
    await rm(path.join(output.folder, "Example-1.4.0-mac.zip"));
    await output.write("Example-1.4.0.dmg");
    await expect(output.drafts()).rejects.toThrow("Example-1.4.0.dmg is for x64");
    expect((await output.drafts({ hints: { architecture: "arm64" } })).drafts).toHaveLength(1);
  });

  test("takes the architecture from the program if the name has none, and the disk image is the installer", async () => {
    const output = await newOutput();
    const zip = { "Example-1.4.0-mac.zip": appZip(machO("arm64")) };
    await writeElectronUpdate(output, "latest-mac.yml", "1.4.0", Object.keys(zip), {}, zip);
    await output.write("Example-1.4.0.dmg");
    const { drafts, notes } = await output.drafts();
    const image = { file: path.join(output.folder, "Example-1.4.0.dmg"), kinds: ["installer"] };
    expect(notes).toEqual([]);
    const release = { architecture: "arm64", releasedAt: "2026-11-20T12:00:00.000Z" };
    expect(drafts).toMatchObject([{ release, files: [{ kinds: ["update"] }, image] }]);
    await expect(output.drafts({ hints: { architecture: "x64" } })).rejects.toThrow("holds a program for arm64");
  });

  test("takes the architecture from a program whose name has another word for it than a release", async () => {
    const output = await newOutput();
    const name = "Example-1.4.0-armv7.AppImage";
    await writeElectronUpdate(output, "latest-linux.yml", "1.4.0", [name], {}, { [name]: elf("armv7l") });
    expect((await output.drafts()).drafts).toMatchObject([{ release: { architecture: "armv7l" } }]);
  });

  test("is refused with the installer of nsis-web, whose package no feed names", async () => {
    const output = await newOutput();
    const packages = { x64: { size: 1, sha512: "x", path: "example-1.4.0-x64.nsis.7z" } };
    await writeElectronUpdate(output, "latest.yml", "1.4.0", ["Example Web Setup 1.4.0.exe"], { packages });
    await expect(output.drafts()).rejects.toThrow("use the target nsis");
  });

  test("with a disk image alone is published with a note", async () => {
    const output = await newOutput();
    await writeElectronUpdate(output, "latest-mac.yml", "1.4.0", ["Example-1.4.0.dmg"]);
    const needed = "the folder has no .zip or .app.tar.gz for it";
    expect((await output.drafts()).notes).toEqual([`Apps cannot update on macos x64: ${needed}.`]);
  });
});

test("a package of Velopack for another architecture is refused", async () => {
  const output = await newOutput();
  const fields = { id: "Acme", version: "1.4.0", os: "win", machineArchitecture: "x64" };
  const name = "Acme-1.4.0-full.nupkg";
  await writeVelopack(output, "win", [{ name, fields, type: "Full" }]);
  await output.write(name, nupkg(fields, pe("arm64")));
  await expect(output.drafts()).rejects.toThrow(`${name} holds a program for arm64`);
});

test("a package of Squirrel.Windows has the program's architecture, and is refused if nothing says it", async () => {
  const output = await newOutput("squirrel-windows");
  const name = "Acme-1.4.0-full.nupkg";
  await output.write("Acme Setup.exe");
  await output.write("RELEASES", `${"0".repeat(40)} ${name} 1000`);
  await output.write(name, nupkg({ id: "Acme", version: "1.4.0" }, pe("arm64")));
  expect((await output.drafts()).drafts).toMatchObject([{ release: { architecture: "arm64" } }]);
  await output.write(name, nupkg({ id: "Acme", version: "1.4.0" }, pe("i386")));
  await expect(output.drafts()).rejects.toThrow(`The architecture of ${name} is unknown: set it with --arch`);
  expect((await output.drafts({ hints: { architecture: "x64" } })).drafts).toHaveLength(1);
});

test("a file whose name changes the direction of text is refused", async () => {
  const output = await newOutput();
  const file = path.join(output.folder, "Example\u202etxt.exe");
  await output.write("Example\u202etxt.exe");
  await expect(publish(output, file, "1.4.0")).rejects.toThrow("change the direction of text");
});
