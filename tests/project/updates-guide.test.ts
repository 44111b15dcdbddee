import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { get } from "@/tests/support/api";
import { type EntryFields, manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { withCatalog } from "@/tests/support/releases/releases";
import { STABLE } from "@/tests/support/releases/updates";

const GUIDE = "docs/guides/updates.md";

const file = (fileName: string, change: EntryFields = {}) => remoteArtifact({ fileName, ...change });
const packageIdentity = { name: "Example.Core", publisher: "CN=Example", version: "1.1.0.0", architecture: "x64" };
const RELEASE = manifestEntry({
  version: "1.1.0",
  artifacts: {
    update: file("core.msix", { packageIdentity }),
    others: [file("Acme-1.1.0-full.nupkg", { sha1: "ab".repeat(20) })],
  },
});

/** What an updater requests, by the URL in its section of the guide. */
const REQUESTS: Record<string, (url: string) => string> = {
  "Squirrel.Windows": (url) => `${url}/RELEASES?id=Acme&localVersion=1.0.0&arch=amd64`,
  Velopack: (url) => `${url}/releases.win.json`,
  MSIX: (url) => url,
};
/** The sections that tests/e2e/releases/updaters.test.ts configures the updaters with. */
const END_TO_END = ["electron-updater", "update-electron-app", "Tauri 2", "Sparkle 2", "WinSparkle", "winget"];

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
      await publish(RELEASE);
      const urls = (await urlsByHeading()).get(heading) ?? [];
      expect(urls.length).toBeGreaterThan(0);
      for (const url of urls) expect((await get(REQUESTS[heading]?.(url) ?? "")).status).toBe(200);
    }),
  );

  test("has no section with a URL of the updates route that is not tested", async () => {
    const named = [...(await urlsByHeading())].filter(([, urls]) => urls.length > 0).map(([heading]) => heading);
    expect(named.sort()).toEqual([...Object.keys(REQUESTS), ...END_TO_END].sort());
  });

  test("names the base URL that the tests of the feeds request", async () => {
    expect(await readFile(GUIDE, "utf8")).toContain(`https://updates.example.com${STABLE}\n`);
  });
});
