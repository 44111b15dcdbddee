import { describe, expect, test } from "vitest";
import { BASE_URL } from "@/tests/support/context";
import { remoteArtifact } from "@/tests/support/releases/entries";
import {
  ED_SIGNATURE,
  expectNoRelease,
  getAppcast,
  getFeed,
  HOSTILE,
  inXml,
  MACOS,
  problemOf,
  updatable,
  WINDOWS,
} from "@/tests/support/releases/feeds";
import { withCatalog } from "@/tests/support/releases/releases";

describe("sparkle", () => {
  test("has Sparkle's elements", () =>
    withCatalog(async (testCatalog) => {
      const release = { version: "2.0.0-beta.1", buildVersion: "200.1", minimumSystemVersion: "12.3", notes: HOSTILE };
      const phased = { phasedRolloutIntervalSeconds: 86_400, critical: true, channel: "beta" };
      const artifact = { edSignature: ED_SIGNATURE, contentType: "application/zip" };
      await testCatalog.publish(updatable("App.zip", { ...release, ...phased }, artifact));
      expect(await getAppcast(`${MACOS}&channel=beta`)).toEqual([
        {
          title: "2.0.0-beta.1",
          pubDate: "Sun, 01 Nov 2026 09:00:00 +0000",
          "sparkle:version": "200.1",
          "sparkle:shortVersionString": "2.0.0-beta.1",
          "sparkle:criticalUpdate": "",
          "sparkle:minimumSystemVersion": "12.3",
          "sparkle:phasedRolloutInterval": "86400",
          description: { "sparkle:format": "markdown", "#text": inXml(HOSTILE) },
          enclosure: {
            url: `${BASE_URL}/api/download/macos?product=core&architecture=universal&channel=beta&version=2.0.0-beta.1&kind=update`,
            length: "10",
            type: "application/zip",
            "sparkle:edSignature": ED_SIGNATURE,
            "sparkle:os": "macos",
          },
        },
      ]);
    }));

  test("is critical below the oldest supported version, and for clients known to be below it", () =>
    withCatalog(async (testCatalog) => {
      const critical = async (query: string) => (await getAppcast(query))[0]?.["sparkle:criticalUpdate"];
      const release = { version: "2.0.0", minimumSupportedVersion: "1.5.0" };
      await testCatalog.publish(updatable("App.zip", release), updatable("setup.exe", release));
      expect(await critical(MACOS)).toEqual({ "sparkle:version": "1.5.0" });
      expect(await critical(`${MACOS}&current=1.6.0`)).toEqual({ "sparkle:version": "1.5.0" });
      expect(await critical(`${MACOS}&current=1.4.0`)).toBe("");
      // WinSparkle does not read the attribute: it would hold everybody to it.
      expect(await critical(WINDOWS)).toBeUndefined();
      expect(await critical(`${WINDOWS}&current=1.4.0`)).toBe("");
    }));

  test("keeps an older release's minimum, by the build versions that the client compares", () =>
    withCatalog(async (testCatalog) => {
      const critical = async (query: string) => (await getAppcast(query))[0]?.["sparkle:criticalUpdate"];
      const fixed = { version: "1.5.0", critical: true };
      await testCatalog.publish(updatable("App.zip", { version: "2.0.0" }), updatable("App.zip", fixed));
      expect(await critical(MACOS)).toEqual({ "sparkle:version": "1.5.0" });
      expect(await critical(`${MACOS}&current=1.4`)).toBe("");
      const built = [
        { version: "2.0.0", buildVersion: "200" },
        { ...fixed, buildVersion: "150" },
      ];
      await testCatalog.publish(...built.map((release) => updatable("App.zip", release)));
      expect(await critical(MACOS)).toEqual({ "sparkle:version": "150" });
      await testCatalog.publish(...[built[0], fixed].map((release) => updatable("App.zip", release)));
      expect(await critical(MACOS)).toBeUndefined();
    }));

  test("skips unsigned releases, which an app with a public key rejects", () =>
    withCatalog(async (testCatalog) => {
      const unsigned = { edSignature: undefined };
      const dmg = { installer: remoteArtifact({ fileName: "App.dmg" }) };
      const before = [updatable("App.zip"), updatable("setup.exe")];
      const after = [
        updatable("setup.exe", { version: "2.0.0" }, unsigned),
        updatable("App.zip", { version: "2.0.0" }, unsigned),
      ];
      await testCatalog.publish(...before, ...after, updatable("App.zip", { version: "3.0.0", artifacts: dmg }));
      for (const query of [WINDOWS, MACOS])
        expect((await getAppcast(query)).map((item) => item.title)).toEqual(["1.0.0"]);
      await testCatalog.publish(...after);
      await expectNoRelease(await getFeed("sparkle", MACOS), "EdDSA");
    }));

  test("never prefers an unsigned archive of a release to a signed one", () =>
    withCatalog(async (testCatalog) => {
      const unsigned = remoteArtifact({ fileName: "App.zip" });
      const others = [remoteArtifact({ fileName: "App.tar.xz", edSignature: ED_SIGNATURE, sizeBytes: 20 })];
      await testCatalog.publish(updatable("App.zip", { artifacts: { installer: unsigned, update: unsigned, others } }));
      const [item] = await getAppcast(MACOS);
      expect(item?.enclosure).toMatchObject({ length: "20", "sparkle:edSignature": ED_SIGNATURE });
      expect(item?.enclosure.url).toContain("file=App.tar.xz");
    }));

  test("knows the installed release by its CFBundleVersion, and ignores one that cannot be compared", () =>
    withCatalog(async (testCatalog) => {
      const of = (version: string, buildVersion: string, change = {}) =>
        updatable("App.zip", { version, buildVersion, ...change });
      await testCatalog.publish(of("1.0.0", "100"), of("1.1.0", "110", { critical: true }), of("1.2.0", "120"));
      const critical = async (query: string) => (await getAppcast(`${MACOS}&${query}`))[0]?.["sparkle:criticalUpdate"];
      for (const current of ["current=100", "current=105", "appVersion=109", "current=1.0.0"]) {
        expect(await critical(current)).toBe("");
      }
      for (const current of ["current=110", "version=115", "appVersion=120", "current=1.1.0"]) {
        expect(await critical(current)).toEqual({ "sparkle:version": "110" });
      }
      for (const current of ["current=Nightly", "appVersion=2024.11-dev", "current="]) {
        expect(await critical(current)).toEqual({ "sparkle:version": "110" });
      }
      expect((await getFeed("electron", `${MACOS}&current=Nightly`)).status).toBe(400);
    }));

  test("reads the system's version from Sparkle's system profile", () =>
    withCatalog(async (testCatalog) => {
      const of = (version: string, minimumSystemVersion: string) =>
        updatable("App.zip", { version, minimumSystemVersion });
      await testCatalog.publish(of("2.0.0", "14.0"), of("1.0.0", "12.0"));
      const newest = async (query: string) => (await getAppcast(`${MACOS}&${query}`))[0]?.title;
      expect(await newest("appName=App&osVersion=13.6.1&cputype=16777228&lang=en")).toBe("1.0.0");
      expect(await newest("osVersion=14.6.1")).toBe("2.0.0");
      expect(await newest("osVersion=Sonoma")).toBe("2.0.0");
    }));

  test("for WinSparkle is marked for Windows, with notes in HTML and a minimum that it can compare", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(updatable("setup.exe", { notes: "# <New>", minimumSystemVersion: "10.0.17763" }));
      const [item] = await getAppcast(`${WINDOWS}&systemVersion=10.0.17763`);
      expect(item).toMatchObject({
        "sparkle:minimumSystemVersion": "10.0",
        description: "<pre># &lt;New&gt;</pre>",
        enclosure: { "sparkle:os": "windows" },
      });
    }));

  test("links to the notes if they have a URL, and marks an installer package", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(updatable("App.pkg", { notes: "Here", notesUrl: "https://example.com/notes?a=1&b=2" }));
      const [item] = await getAppcast(MACOS);
      expect(item).toMatchObject({
        "sparkle:releaseNotesLink": "https://example.com/notes?a=1&b=2",
        enclosure: { "sparkle:installationType": "package" },
      });
      expect(item).not.toHaveProperty("description");
    }));

  test("has no phased rollout for a release that the service rolls out", () =>
    withCatalog(async (testCatalog) => {
      const partial = { version: "2.0.0", rollout: 99, phasedRolloutIntervalSeconds: 86_400 };
      await testCatalog.publish(updatable("App.zip", partial), updatable("App.zip", { version: "1.0.0" }));
      const seen = await Promise.all(Array.from({ length: 20 }, (_, i) => getAppcast(`${MACOS}&clientId=${i}`)));
      const items = seen.flat().filter((item) => item["sparkle:version"] === "2.0.0");
      expect(items.length).toBeGreaterThan(0);
      for (const item of items) expect(item).not.toHaveProperty("sparkle:phasedRolloutInterval");
    }));
});

describe("squirrel", () => {
  test("requires the installed version, because Squirrel.Mac installs every version that it is offered", async () => {
    const answer = await problemOf(await getFeed("squirrel", MACOS));
    expect(answer).toMatchObject({ status: 400, missing: ["current"], errors: [{ pointer: "?current" }] });
  });

  test("is for macOS only", async () => {
    const answer = await problemOf(await getFeed("squirrel", `${WINDOWS}&current=1.0.0`));
    expect(answer).toMatchObject({ status: 400, errors: [{ pointer: "?platform" }], allowed: { platform: ["macos"] } });
  });
});
