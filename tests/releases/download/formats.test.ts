import { describe, expect, test } from "vitest";
import { get } from "@/tests/support/api";
import { statusAndCode } from "@/tests/support/releases/downloads";
import { type EntryFields, manifestEntry } from "@/tests/support/releases/entries";
import { type TestCatalog, withCatalog } from "@/tests/support/releases/releases";

const text = async (url: string) => {
  const response = await get(`/api/download/${url}`);
  return response.status === 200 ? response.text() : response.status;
};

/** Files whose bytes are their names. */
const filesOf = (testCatalog: TestCatalog, ...names: string[]) =>
  Promise.all(names.map((name) => testCatalog.addFile(name, Buffer.from(name))));

const linux = (artifacts: EntryFields, change: EntryFields = {}) =>
  manifestEntry({ platform: "linux", artifacts, ...change });

describe("a download by format", () => {
  test("is the file of that type", () =>
    withCatalog(async (testCatalog) => {
      const [installer, ...others] = await filesOf(testCatalog, "App.AppImage", "app.deb", "app.rpm", "app.tar.xz");
      await testCatalog.publish(linux({ installer, others }));
      const formats = ["appimage", "DEB", "rpm", "tar"];
      expect(await Promise.all(formats.map((format) => text(`linux?format=${format}`)))).toEqual([
        "App.AppImage",
        "app.deb",
        "app.rpm",
        "app.tar.xz",
      ]);
      expect(await text("linux?format=deb&version=1.0.0")).toBe("app.deb");
      expect(await statusAndCode(await get("/api/download/linux?format=pacman"))).toEqual([404, "release_not_found"]);
    }));

  test("is the newest release that has such a file", () =>
    withCatalog(async (testCatalog) => {
      const [exe, msi, zip] = await filesOf(testCatalog, "setup.exe", "setup.msi", "portable.zip");
      await testCatalog.publish(
        manifestEntry({ version: "1.0.0", artifacts: { installer: exe, others: [msi] } }),
        manifestEntry({ version: "1.1.0", artifacts: { installer: exe, update: zip } }),
      );
      const found = await Promise.all(["exe", "msi", "zip"].map((format) => text(`windows?format=${format}`)));
      expect(found).toEqual(["setup.exe", "setup.msi", "portable.zip"]);
      expect(await text("windows?format=msi&version=1.1.0")).toBe(404);
    }));

  test("prefers the update only for updaters", () =>
    withCatalog(async (testCatalog) => {
      const [installer, update] = await filesOf(testCatalog, "people.zip", "updater.zip");
      await testCatalog.publish(manifestEntry({ artifacts: { installer, update } }));
      expect(await text("windows?format=zip")).toBe("people.zip");
      expect(await text("windows?format=zip&kind=update")).toBe("updater.zip");
    }));

  test("with an unknown format is rejected with the known ones", async () => {
    const response = await get("/api/download/linux?format=snap");
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { code: "invalid_query", errors: [{ pointer: "?format" }], allowed: { format: expect.arrayContaining(["deb"]) } },
    ]);
  });
});

describe("a download for Linux", () => {
  test("is the AppImage, whichever file is the installer; else the installer", () =>
    withCatalog(async (testCatalog) => {
      const [appImage, deb] = await filesOf(testCatalog, "App.AppImage", "app.deb");
      await testCatalog.publish(
        linux({ installer: deb, others: [appImage] }),
        linux({ installer: deb }, { product: "ops" }),
      );
      expect(await text("linux")).toBe("App.AppImage");
      expect(await text("linux?kind=installer")).toBe("app.deb");
      expect(await text("linux?product=ops")).toBe("app.deb");
      expect(await text("linux?architecture=arm64")).toBe(404);
    }));

  test("is cached for a year only if it cannot become another file of the release", () =>
    withCatalog(async (testCatalog) => {
      const [installer] = await filesOf(testCatalog, "app.deb");
      await testCatalog.publish(linux({ installer }));
      const caching = async (query: string) =>
        (await get(`/api/download/linux?version=1.0.0${query}`)).headers.get("cache-control");
      for (const query of ["", "&format=deb"]) expect(await caching(query)).toBe("public, max-age=60");
      for (const query of ["&kind=installer", "&file=app.deb"]) expect(await caching(query)).toMatch(/immutable/);
    }));
});

describe("a download of a version", () => {
  test("is of the build that has the kind: another channel's or architecture's if the own has none", () =>
    withCatalog(async (testCatalog) => {
      const [beta, stable, universal] = await filesOf(testCatalog, "beta.zip", "stable.exe", "universal.dmg");
      await testCatalog.publish(
        manifestEntry({ channel: "beta", artifacts: { update: beta } }),
        manifestEntry({ artifacts: { installer: stable } }),
        manifestEntry({ platform: "macos", architecture: "arm64", artifacts: { update: beta } }),
        manifestEntry({ platform: "macos", architecture: "universal", artifacts: { installer: universal } }),
      );
      expect(await text("windows?version=1.0.0&channel=beta")).toBe("stable.exe");
      expect(await text("windows?version=1.0.0&channel=beta&kind=update")).toBe("beta.zip");
      expect(await text("macos?version=1.0.0&architecture=arm64")).toBe("universal.dmg");
      expect(await text("macos?version=1.0.0&architecture=arm64&kind=update")).toBe("beta.zip");
    }));
});
