import { describe, expect, test } from "vitest";
import { get } from "@/tests/support/api";
import { BASE_URL } from "@/tests/support/context";
import { type EntryFields, remoteArtifact } from "@/tests/support/releases/entries";
import { ED_SIGNATURE, expectNoRelease, parseAppcast, updatable } from "@/tests/support/releases/feeds";
import { SPARKLE, WINSPARKLE } from "@/tests/support/releases/formats/sparkle-elements";
import { withCatalog } from "@/tests/support/releases/releases";
import { STABLE } from "@/tests/support/releases/updates";

const SPARKLE_AGENT = "Example App/1.0.0 Sparkle/2.9.4";
const WINSPARKLE_AGENT = "Example App/1.0.0 WinSparkle/0.9.3 (Win64)";

const request = (userAgent?: string, query = "", base = STABLE) =>
  get(`${base}/appcast.xml${query}`, userAgent === undefined ? {} : { headers: { "user-agent": userAgent } });
const items = async (...args: Parameters<typeof request>) => parseAppcast(await (await request(...args)).text());
const titles = async (...args: Parameters<typeof request>) => (await items(...args)).map(({ title }) => title);

/** The enclosures of an item's deltas. */
const deltasOf = (item: Awaited<ReturnType<typeof items>>[number] | undefined): Record<string, string>[] => {
  const deltas = item?.["sparkle:deltas"] as
    | { enclosure?: Record<string, string> | Record<string, string>[] }
    | undefined;
  return [deltas?.enclosure ?? []].flat();
};

const delta = (fileName: string, from: string, change: EntryFields = {}) =>
  remoteArtifact({ fileName, from, edSignature: ED_SIGNATURE, sizeBytes: 3, ...change });
const withDeltas = (change: EntryFields, ...deltas: EntryFields[]) => {
  const release = updatable("App.zip", change);
  return { ...release, artifacts: { ...(release.artifacts as object), deltas } };
};

describe("appcast.xml", () => {
  test("has the items of both systems for an unknown client, each marked for its system", () =>
    withCatalog(async ({ publish }) => {
      await publish(updatable("App.zip", { version: "1.2.0" }), updatable("setup.exe", { version: "1.1.0" }));
      const found = await items();
      expect(found.map(({ title, enclosure }) => [title, enclosure["sparkle:os"], enclosure.url])).toEqual([
        ["1.2.0", "macos", `${BASE_URL}${STABLE}/1.2.0/macos-universal/App.zip`],
        ["1.1.0", "windows", `${BASE_URL}${STABLE}/1.1.0/windows-x64/setup.exe`],
      ]);
      expect((await request()).headers.get("cache-control")).toContain("public");
    }));

  test("has the items of one system for the client that names itself in the User-Agent", () =>
    withCatalog(async ({ publish }) => {
      await publish(updatable("App.zip", { version: "1.2.0" }), updatable("setup.exe", { version: "1.1.0" }));
      expect(await titles(SPARKLE_AGENT)).toEqual(["1.2.0"]);
      expect(await titles(WINSPARKLE_AGENT)).toEqual(["1.1.0"]);
      expect((await request(SPARKLE_AGENT)).headers.get("cache-control")).toBe("private, no-cache");
      await publish(updatable("App.zip"));
      // Without an item for Windows, WinSparkle would install the first one of any system.
      await expectNoRelease(await request(WINSPARKLE_AGENT));
    }));

  test("has nothing that Sparkle or WinSparkle would not read", () =>
    withCatalog(async ({ publish }) => {
      const everything = {
        version: "2.0.0",
        buildVersion: "200",
        minimumSystemVersion: "12.3",
        requiresFrom: "1.0.0",
        critical: true,
        phasedRolloutIntervalSeconds: 3600,
        notes: "New",
      };
      const base = { version: "1.0.0", buildVersion: "100" };
      const windows = { ...everything, minimumSystemVersion: "10.0", buildVersion: null };
      await publish(
        withDeltas(everything, delta("a.delta", "1.0.0")),
        updatable("App.zip", base),
        updatable("setup.exe", windows),
      );
      const all = await items();
      for (const item of all) {
        for (const name of Object.keys(item)) expect(SPARKLE.item).toContain(name);
        for (const name of Object.keys(item.enclosure)) expect(SPARKLE.enclosure).toContain(name);
      }
      const [mac] = all;
      const win = all.find(({ enclosure }) => enclosure["sparkle:os"] === "windows");
      expect(deltasOf(mac)).toHaveLength(1);
      for (const name of deltasOf(mac).flatMap(Object.keys)) expect(SPARKLE.enclosure).toContain(name);
      const needed = ["sparkle:version", "sparkle:minimumSystemVersion", "sparkle:criticalUpdate", "description"];
      for (const name of needed) expect([name in (win ?? {}), WINSPARKLE.item.has(name)]).toEqual([true, true]);
      for (const name of ["url", "sparkle:os", "sparkle:edSignature"]) {
        expect([name in (win?.enclosure ?? {}), WINSPARKLE.enclosure.has(name)]).toEqual([true, true]);
      }
    }));

  test("names the deltas by the build that they are for, on macOS alone", () =>
    withCatalog(async ({ publish }) => {
      const signed = [delta("100-200.delta", "1.0.0"), delta("150-200.delta", "1.5.0")];
      const unusable = [
        delta("nopublished.delta", "0.9.0"),
        delta("unsigned.delta", "1.0.0", { edSignature: undefined }),
        delta("App-2.0.0-delta.nupkg", "1.0.0"),
      ];
      const windows = updatable("setup.exe", { version: "2.0.0" });
      await publish(
        withDeltas({ version: "2.0.0", buildVersion: "200" }, ...signed, ...unusable),
        updatable("App.zip", { version: "1.5.0", buildVersion: "150" }),
        updatable("App.zip", { version: "1.0.0", buildVersion: "100" }),
        { ...windows, artifacts: { ...(windows.artifacts as object), deltas: [delta("w.delta", "1.0.0")] } },
      );
      const [mac, win] = await items();
      expect(deltasOf(mac)).toEqual(
        ["100", "150"].map((from) => ({
          url: `${BASE_URL}${STABLE}/2.0.0/macos-universal/${from}-200.delta`,
          length: "3",
          type: "application/octet-stream",
          "sparkle:edSignature": ED_SIGNATURE,
          "sparkle:deltaFrom": from,
        })),
      );
      expect(win).not.toHaveProperty("sparkle:deltas");
      await publish(withDeltas({ version: "2.0.0" }, ...signed));
      const [plain] = await items();
      expect(deltasOf(plain).map((one) => one["sparkle:deltaFrom"])).toEqual(["1.0.0", "1.5.0"]);
    }));

  test("takes the installed version of the User-Agent, and ignores one that it cannot read", () =>
    withCatalog(async ({ publish }) => {
      const critical = async (agent: string) => "sparkle:criticalUpdate" in ((await items(agent))[0] ?? {});
      const fixed = updatable("setup.exe", { version: "1.5.0", critical: true });
      await publish(fixed, updatable("setup.exe", { version: "2.0.0" }));
      const agent = (version: string) => `Example App/${version} WinSparkle/0.9.3`;
      expect(await critical(agent("1.4"))).toBe(true);
      expect(await critical(agent("1.5.0"))).toBe(false);
      for (const odd of ["", "Sonnet", "1.x", "../x", "1".repeat(300), `1.4/${"x".repeat(2000)}`]) {
        expect(await critical(agent(odd))).toBe(false);
      }
    }));

  test("leaves the comparison to the client: an older version than the installed one is still listed", () =>
    withCatalog(async ({ publish }) => {
      await publish(updatable("App.zip", { version: "1.0.0", buildVersion: "2024" }));
      expect(await titles("Example App/2024.1 Sparkle/2.9.4")).toEqual(["1.0.0"]);
    }));

  test("has the channel of its URL, the build that arch names, and releases for older systems", () =>
    withCatalog(async ({ publish }) => {
      const arm = { version: "1.3.0", architecture: "arm64" };
      const newest = { version: "1.2.0", minimumSystemVersion: "14.0" };
      await publish(
        updatable("App-arm64.zip", arm),
        updatable("App-beta.zip", { version: "1.4.0-beta.1", channel: "beta" }),
        updatable("App.zip", newest),
        updatable("Old.zip", { version: "1.1.0" }),
      );
      expect(await titles()).toEqual(["1.2.0", "1.1.0"]);
      expect(await titles(SPARKLE_AGENT, "?arch=aarch64")).toEqual(["1.3.0"]);
      expect(await titles(SPARKLE_AGENT, "", "/api/updates/core/beta")).toEqual(["1.4.0-beta.1"]);
    }));

  test("tells Sparkle from which version a release can be installed", () =>
    withCatalog(async ({ publish }) => {
      await publish(
        updatable("App.zip", { version: "2.0.0", buildVersion: "200", requiresFrom: "1.5.0" }),
        updatable("App.zip", { version: "1.5.0", buildVersion: "150" }),
      );
      const [item] = await items("Example App/1.6.0 Sparkle/2.9.4");
      expect(item).toMatchObject({ title: "2.0.0", "sparkle:minimumUpdateVersion": "150" });
    }));

  test("waits for the end of a rollout, unless the app sends a client id", () =>
    withCatalog(async ({ publish }) => {
      await publish(updatable("App.zip", { version: "2.0.0", rollout: 50 }), updatable("App.zip"));
      expect(await titles(SPARKLE_AGENT)).toEqual(["1.0.0"]);
      const drawn = await Promise.all(Array.from({ length: 24 }, (_, i) => titles(SPARKLE_AGENT, `?clientId=${i}`)));
      expect(new Set(drawn.flat())).toEqual(new Set(["1.0.0", "2.0.0"]));
    }));
});
