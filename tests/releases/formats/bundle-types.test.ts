import { describe, expect, test } from "vitest";
import { get } from "@/tests/support/api";
import { manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { getElectronFeed, getFeed, MINISIGN, problemOf, WINDOWS } from "@/tests/support/releases/feeds";
import { type TestCatalog, withCatalog } from "@/tests/support/releases/releases";
import { getVersion } from "@/tests/support/releases/versions";

const LINUX = "platform=linux&product=core&architecture=x86_64";

/** Publishes a release with files of these names, each with its own bytes and signed for Tauri. */
async function publish(testCatalog: TestCatalog, platform: string, ...names: string[]) {
  const files = await Promise.all(
    names.map((name) => testCatalog.addFile(name, Buffer.from(name), { minisign: MINISIGN })),
  );
  const [installer, ...others] = files;
  await testCatalog.publish(manifestEntry({ platform, version: "2.0.0", artifacts: { installer, others } }));
}

/** The name of the file that Tauri gets for this bundle type; null for none. */
async function fileForTauri(query: string, bundleType: string): Promise<string | null> {
  const response = await getFeed("tauri", `${query}&current=1.0.0&bundleType=${bundleType}`);
  if (response.status === 404) return null;
  const { url } = (await response.json()) as { url: string };
  return (await get(url)).text();
}

describe("Tauri's bundle type", () => {
  test("selects the file that updates an app of this type on Linux, never another", () =>
    withCatalog(async (testCatalog) => {
      await publish(testCatalog, "linux", "App.AppImage", "app.deb", "app.rpm");
      const types = ["appimage", "deb", "rpm", "DEB", "unknown", "nsis"];
      expect(await Promise.all(types.map((type) => fileForTauri(LINUX, type)))).toEqual([
        "App.AppImage",
        "app.deb",
        "app.rpm",
        "app.deb",
        null,
        null,
      ]);
      await publish(testCatalog, "linux", "App.AppImage");
      expect(await fileForTauri(LINUX, "deb")).toBeNull();
    }));

  test("selects between an older release that has the file and a newer one without it", () =>
    withCatalog(async (testCatalog) => {
      const file = (fileName: string) => remoteArtifact({ fileName, minisign: MINISIGN });
      await testCatalog.publish(
        manifestEntry({ version: "2.0.0", artifacts: { installer: file("a.exe"), others: [file("a.msi")] } }),
        manifestEntry({ version: "3.0.0", artifacts: { installer: file("a.exe") } }),
      );
      const version = async (type: string) => {
        const response = await getFeed("tauri", `${WINDOWS}&current=1.0.0&bundleType=${type}`);
        return ((await response.json()) as { version: string }).version;
      };
      expect([await version("msi"), await version("nsis")]).toEqual(["2.0.0", "3.0.0"]);
    }));

  test("is required on Linux, and only there", () =>
    withCatalog(async (testCatalog) => {
      await publish(testCatalog, "linux", "App.AppImage");
      for (const format of ["tauri", "electron"]) {
        const answer = await problemOf(await getFeed(format, `${LINUX}&current=1.0.0`));
        expect(answer).toMatchObject({ status: 400, missing: ["bundleType"], errors: [{ pointer: "?bundleType" }] });
      }
      expect(await getVersion(`${LINUX}&current=1.0.0`)).toMatchObject({ version: "2.0.0" });
      await publish(testCatalog, "windows", "setup.exe");
      expect((await getFeed("tauri", `${WINDOWS}&current=1.0.0`)).status).toBe(200);
    }));

  test("is one of the known types", async () => {
    expect(await problemOf(await getFeed("tauri", `${WINDOWS}&bundleType=%7B%7Bbundle_type%7D%7D`))).toMatchObject({
      status: 400,
      errors: [{ pointer: "?bundleType" }],
      allowed: { bundleType: ["appimage", "deb", "rpm", "pacman", "nsis", "msi", "app", "unknown"] },
    });
  });
});

test("electron-updater's package type selects the file on Linux", () =>
  withCatalog(async (testCatalog) => {
    await publish(testCatalog, "linux", "App.AppImage", "app.deb", "app.rpm", "app.pacman");
    for (const [type, name] of Object.entries({ appimage: "App.AppImage", deb: "app.deb", pacman: "app.pacman" })) {
      const { files, path } = await getElectronFeed(`${LINUX}&current=1.0.0&bundleType=${type}`);
      expect([path, await (await get(files[0]?.url ?? "")).text()]).toEqual([name, name]);
    }
  }));
