import { describe, expect, test } from "vitest";
import { get } from "@/tests/support/api";
import { type EntryFields, manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { withCatalog } from "@/tests/support/releases/releases";
import { newSigningKey } from "@/tests/support/releases/signing";
import { getVersion, WINDOWS } from "@/tests/support/releases/versions";

const MACOS = "platform=macos&product=core&architecture=universal";

describe("an update", () => {
  test.each([
    ["current=1.0.0", true],
    ["current=v1.0.0", true],
    ["current=1.1.0+7", false],
    ["version=1.0.0", true],
    ["current=1.1.0", false],
    ["current=1.0", true],
    ["current=v1.1", false],
    ["current=1.01.0", false],
    ["current=1.1.0.4711", false],
  ])("with %s is available: %s", (current, updateAvailable) =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(manifestEntry({ version: "1.0.0" }), manifestEntry({ version: "1.1.0" }));
      expect(await getVersion(`${WINDOWS}&${current}`)).toMatchObject({ version: "1.1.0", updateAvailable });
    }),
  );

  test.each([
    // A release, and whether it is an update for 1.2.3.4, as Windows numbers it.
    [{ version: "1.2.3+5" }, true],
    [{ version: "1.2.3+4" }, false],
    [{ version: "1.2.3+10" }, true],
    [{ version: "1.2.3", buildVersion: "1.2.3.5" }, true],
    [{ version: "1.2.3", buildVersion: "1.2.3.4" }, false],
    [{ version: "1.3.0", buildVersion: "1.2.3.3" }, false],
    [{ version: "1.2.3" }, false],
  ])("%j for four numbers is available: %s", (release, updateAvailable) =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(manifestEntry(release));
      expect(await getVersion(`${WINDOWS}&current=1.2.3.4`)).toMatchObject({ updateAvailable });
    }),
  );

  test("never goes back within a version by its build number", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(
        manifestEntry({ version: "1.2.0+5" }),
        manifestEntry({ version: "1.2.0+7", yanked: true }),
      );
      expect(await getVersion(`${WINDOWS}&current=1.2.0%2B7`)).toMatchObject({ updateAvailable: false });
      expect(await getVersion(`${WINDOWS}&current=1.2.0%2B4`)).toMatchObject({ updateAvailable: true });
      const electron = await get(`/api/version?${WINDOWS}&current=1.2.0%2B7&format=electron`);
      expect(electron.status === 404 || (await electron.text()).includes('version: "1.2.0+7"')).toBe(true);
    }));

  test("goes back only for those who have a withdrawn version, in every format", () =>
    withCatalog(async (testCatalog) => {
      const minisign = newSigningKey().minisign(Buffer.from("x"), "x");
      const mac = (change: EntryFields) => {
        const update = (fileName: string) => remoteArtifact({ fileName, minisign });
        const artifacts = { update: update("app.zip"), others: [update("app.tar.gz")] };
        return manifestEntry({ platform: "macos", architecture: "universal", artifacts, ...change });
      };
      await testCatalog.publish(
        mac({ version: "1.2.0", yanked: true }),
        mac({ version: "1.1.0", rollout: 0 }),
        mac({ version: "1.0.0", rollback: true }),
      );
      const feed = async (format: string, current: string) => {
        const response = await get(`/api/version?${MACOS}&format=${format}&current=${current}`);
        return [
          response.status,
          /"?version"?: ?"([^"]*)"|"name":"([^"]*)"/
            .exec(await response.text())
            ?.slice(1)
            .join(""),
        ];
      };
      for (const current of ["1.2.0", "1.1.0"]) {
        expect(await feed("tauri", current)).toEqual([200, "1.0.0"]);
        expect(await feed("squirrel", current)).toEqual([200, "1.0.0"]);
        expect(await feed("electron", current)).toEqual([200, "1.0.0"]);
      }
      for (const current of ["1.0.1", "1.3.0"]) {
        expect(await feed("tauri", current)).toEqual([204, undefined]);
        expect(await feed("squirrel", current)).toEqual([204, undefined]);
        expect(await feed("electron", current)).toEqual([200, current]);
      }
    }));
});

describe("a sample", () => {
  test("is an update for another sample", async () => {
    expect(await getVersion(`${WINDOWS}&current=1.0.0`)).toMatchObject({ version: "1.1.0", updateAvailable: true });
  });

  test.each(["0.9.0", "9.0.0"])("is not an update for %s, which is not a sample", async (current) => {
    expect(await getVersion(`${WINDOWS}&current=${current}`)).toMatchObject({
      updateAvailable: false,
      mandatory: false,
    });
    const feed = async (format: string, query = WINDOWS) => {
      const response = await get(`/api/version?${query}&current=${current}&format=${format}`);
      return [response.status, await response.text()];
    };
    expect(await feed("tauri")).toEqual([204, ""]);
    expect(await feed("squirrel", MACOS)).toEqual([204, ""]);
    expect(await feed("electron")).toEqual([200, `version: "${current}"\nfiles: []\n`]);
    const [status, appcast] = await feed("sparkle");
    expect([status, String(appcast).includes("<item>")]).toEqual([200, false]);
  });

  test("is not served beside a real release, not even by its version", () =>
    withCatalog(async (testCatalog) => {
      const sample = manifestEntry({ version: "1.1.0", sample: true });
      await testCatalog.publish(sample, manifestEntry({ version: "0.9.0" }));
      expect(await getVersion(WINDOWS)).toMatchObject({ version: "0.9.0" });
      expect((await get("/api/download/windows?version=1.1.0")).status).toBe(404);
      await testCatalog.publish(sample, manifestEntry({ version: "0.9.0", product: "ops", yanked: true }));
      expect(await getVersion(WINDOWS)).toMatchObject({ status: 404 });
    }));

  test("is not cached: a real release may get its version, and so its URL", async () => {
    for (const query of ["", "?version=1.0.0"]) {
      const response = await get(`/api/download/windows${query}`);
      expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store"]);
    }
  });
});
