import { describe, expect, test } from "vitest";
import { BASE_URL } from "@/tests/support/context";
import { getElectronFeed, HOSTILE, MACOS, updatable, WINDOWS } from "@/tests/support/releases/feeds";
import { remoteArtifact, withCatalog } from "@/tests/support/releases/releases";

describe("electron", () => {
  test("has latest.yml's fields, as electron-updater parses them", () =>
    withCatalog(async (testCatalog) => {
      const release = { version: "2.0.0", notes: HOSTILE, minimumSystemVersion: "10.0.17763" };
      await testCatalog.publish(updatable("My Setup 2.0.0.exe", release));
      expect(await getElectronFeed(`${WINDOWS}&current=1.0.0`)).toEqual({
        version: "2.0.0",
        files: [
          {
            url: `${BASE_URL}/api/download/windows?product=core&architecture=x64&channel=stable&version=2.0.0&kind=update`,
            sha512: remoteArtifact().sha512,
            size: 10,
          },
        ],
        path: "My Setup 2.0.0.exe",
        sha512: remoteArtifact().sha512,
        releaseDate: "2026-11-01T09:00:00.000Z",
        releaseNotes: HOSTILE.toWellFormed(),
        minimumSystemVersion: "10.0.17763",
      });
    }));

  test("names macOS's minimum as the Darwin version that os.release() returns", () =>
    withCatalog(async (testCatalog) => {
      for (const [minimumSystemVersion, darwin] of [
        ["9.2", undefined],
        ["10.15", "19.0.0"],
        ["11", "20.0.0"],
        ["12.3", "21.0.0"],
        ["15.1.2", "24.0.0"],
        ["26.0", "25.0.0"],
      ]) {
        await testCatalog.publish(updatable("app.zip", { minimumSystemVersion }));
        expect((await getElectronFeed(`${MACOS}&systemVersion=26.1`)).minimumSystemVersion).toBe(darwin);
      }
    }));
});
