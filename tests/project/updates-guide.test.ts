import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { get } from "@/tests/support/api";
import { ED_SIGNATURE, MINISIGN } from "@/tests/support/releases/feeds";
import { type EntryFields, manifestEntry, remoteArtifact, withCatalog } from "@/tests/support/releases/releases";
import { STABLE } from "@/tests/support/releases/updates";

const GUIDE = "docs/guides/updates.md";

/** A release with a file for every updater. */
function release(platform: string, architecture: string, ...files: EntryFields[]): EntryFields {
  const [update, ...others] = files.map((file) => ({ edSignature: ED_SIGNATURE, minisign: MINISIGN, ...file }));
  return manifestEntry({ platform, architecture, version: "1.1.0", artifacts: { update, others } });
}

const file = (fileName: string, change: EntryFields = {}) => remoteArtifact({ fileName, ...change });
const packageIdentity = { name: "Example.Core", publisher: "CN=Example", version: "1.1.0.0", architecture: "x64" };
const RELEASES = [
  release(
    "windows",
    "x64",
    file("Setup.exe"),
    file("core.msix", { packageIdentity }),
    file("Acme-1.1.0-full.nupkg", { sha1: "ab".repeat(20) }),
  ),
  release("macos", "universal", file("App.zip"), file("App.app.tar.gz")),
];

/** What an updater requests, by the URL in its section of the guide. */
const REQUESTS: Record<string, (url: string) => string[]> = {
  "electron-updater": (url) => ["latest.yml", "latest-mac.yml"].map((name) => `${url}/${name}`),
  "Squirrel.Windows": (url) => [`${url}/RELEASES?id=Acme&localVersion=1.0.0&arch=amd64`],
  "update-electron-app": (url) =>
    ["darwin-arm64/1.0.0", "win32-x64/1.0.0/RELEASES", "win32-x64/msix/1.0.0"].map(
      (path) => `${url}/core/stable/${path}`,
    ),
  Velopack: (url) => [`${url}/releases.win.json`],
  "Tauri 2": (url) =>
    ["windows/x86_64/1.0.0/nsis", "darwin/aarch64/1.0.0/app"].map((client) => {
      const [target = "", arch = "", version = "", bundleType = ""] = client.split("/");
      const filled = url
        .replace("{{target}}", target)
        .replace("{{arch}}", arch)
        .replace("{{current_version}}", version);
      return filled.replace("{{bundle_type}}", bundleType);
    }),
  "Sparkle 2": (url) => [url],
  WinSparkle: (url) => [url],
  MSIX: (url) => [url],
  winget: (url) =>
    ["version", "installer", "locale.en-US"].map((part) => url.replace("$part", part).replace("?$query", "")),
};

async function urlsByHeading(): Promise<Map<string, string[]>> {
  const sections = (await readFile(GUIDE, "utf8")).split(/^## /m).slice(1);
  return new Map(
    sections.map((section) => {
      const blocks = [...section.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => text);
      const urls = blocks.join("").matchAll(/https:\/\/updates\.example\.com(\/api\/updates[^\s"<]*)/g);
      return [section.slice(0, section.indexOf("\n")), [...urls].map(([, path = ""]) => path)];
    }),
  );
}

describe("the guide", () => {
  test.each(Object.keys(REQUESTS))("has a URL for %s that responds as the updater expects", (heading) =>
    withCatalog(async ({ publish }) => {
      await publish(...RELEASES);
      const urls = (await urlsByHeading()).get(heading) ?? [];
      expect(urls.length).toBeGreaterThan(0);
      for (const path of urls.flatMap((url) => REQUESTS[heading]?.(url) ?? [])) {
        expect([path, (await get(path)).status]).toEqual([path, 200]);
      }
    }),
  );

  test("has no section with a URL of the updates route that is not tested", async () => {
    const named = [...(await urlsByHeading())].filter(([, urls]) => urls.length > 0).map(([heading]) => heading);
    expect(named.sort()).toEqual(Object.keys(REQUESTS).sort());
  });

  test("names the base URL that the tests of the feeds request", async () => {
    expect(await readFile(GUIDE, "utf8")).toContain(`https://updates.example.com${STABLE}\n`);
  });
});
