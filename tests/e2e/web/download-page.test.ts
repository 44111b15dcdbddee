import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anyDatabase, type Service, startService } from "@/tests/support/process/service";
import { manifestEntry, manifestText } from "@/tests/support/releases/releases";
import { hasChromium, launchChromium } from "@/tests/support/web/chromium";
import { accessibilityFaults, COLOR_RULES, visit } from "@/tests/support/web/pages";

const LINUX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

describe.runIf(hasChromium)("the download page for Linux", () => {
  let folder: string;
  let service: Service;
  let browser: Browser;

  const publishFile = async (fileName: string) => {
    const bytes = Buffer.from(`the file ${fileName}`);
    await writeFile(path.join(folder, fileName), bytes);
    const hash = (algorithm: string) => createHash(algorithm).update(bytes);
    const sha256 = hash("sha256").digest("hex");
    return { file: fileName, fileName, sizeBytes: bytes.length, sha256, sha512: hash("sha512").digest("base64") };
  };

  const release = async (version: string, [first = "", ...others]: string[], platform = "linux") =>
    manifestEntry({
      version,
      platform,
      notes: "Starts faster.",
      artifacts: { installer: await publishFile(first), others: await Promise.all(others.map(publishFile)) },
    });

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "homeport-download-page-"));
    const releases = [
      await release("2.0.0", [
        "core_2.0.0_amd64.deb",
        "core-2.0.0.x86_64.rpm",
        "Core-2.0.0.AppImage",
        "core-2.0.0-full.nupkg",
      ]),
      await release("1.0.0", ["Core-1.0.0.AppImage", "core_1.0.0_amd64.deb"]),
      await release("2.0.0", ["setup-2.0.0.exe"], "windows"),
    ];
    await writeFile(path.join(folder, "catalog.json"), manifestText(releases));
    const RELEASE_CATALOG = path.join(folder, "catalog.json");
    const settings = { RATE_LIMITS: "off", RELEASE_CATALOG, ...(await anyDatabase()) };
    [service, browser] = await Promise.all([startService(settings), launchChromium()]);
  });

  afterAll(async () => {
    await browser.close();
    await service.end("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  });

  test("offers the AppImage first and the packages beside it, each with its checksum", async () => {
    const { page, faults } = await visit(browser, service, { userAgent: LINUX });
    await page.goto("/download");
    expect(await page.getByRole("heading", { level: 2 }).allInnerTexts()).toEqual(["For Linux", "Other platforms"]);
    const product = page.getByRole("region", { name: "core for Linux, x64" });
    const save = async (name: string) => {
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        product.getByRole("link", { name, exact: true }).click(),
      ]);
      const bytes = await readFile(await download.path());
      expect(await product.innerText()).toContain(createHash("sha256").update(bytes).digest("hex"));
      return download.suggestedFilename();
    };
    expect(await save("Download core 2.0.0 for Linux (x64)")).toBe("Core-2.0.0.AppImage");
    expect(await save("core_2.0.0_amd64.deb")).toBe("core_2.0.0_amd64.deb");
    expect(await save("core-2.0.0.x86_64.rpm")).toBe("core-2.0.0.x86_64.rpm");
    expect(await page.getByText("nupkg").count()).toBe(0);
    await product.getByText("Other versions").click();
    const older = product.getByRole("link", { name: "core_1.0.0_amd64.deb" });
    expect(await older.getAttribute("href")).toContain("file=core_1.0.0_amd64.deb");
    expect(faults).toEqual([]);
  });

  test("is accessible in light and dark mode, and fits a 320 px wide screen", async () => {
    const { page } = await visit(browser, service, { userAgent: LINUX, viewport: { width: 320, height: 640 } });
    await page.goto("/download");
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await accessibilityFaults(page, COLOR_RULES)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0);
  });
});

const WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/156.0.0.0 Safari/537.36";
const WINDOWS_32 = "Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0";
const MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/26.0 Safari/605.1.15";
const LINUX_ARM = "Mozilla/5.0 (X11; Linux aarch64; rv:140.0) Gecko/20100101 Firefox/140.0";
const ARM = '"arm"';
const X86 = '"x86"';

/** Every combination of builds is a product of its own: `windows-x64-arm64`. */
const subsets = (builds: string[]): string[][] =>
  Array.from({ length: 2 ** builds.length }, (_, bits) => builds.filter((_, i) => bits & (1 << i)));
const BUILDS = { windows: ["x64", "arm64", "ia32"], macos: ["universal", "x64", "arm64"], linux: ["x64", "arm64"] };
const PRODUCTS = Object.entries(BUILDS).flatMap(([platform, builds]) =>
  subsets(builds)
    .filter((chosen) => chosen.length > 0)
    .map((chosen) => ({ platform, builds: chosen, name: [platform, ...chosen].join("-") })),
);
/** By a build's platform and name. */
const LABELS: Record<string, string> = { "macos arm64": "Apple silicon", "macos x64": "Intel" };
const PLATFORM_LABELS: Record<string, string> = { windows: "Windows", macos: "macOS", linux: "Linux" };

/** A browser, its hint, its platform, and the builds that run there, best first; null: it does not say on which. */
const BROWSERS: [string, string | null, keyof typeof BUILDS, string[] | null][] = [
  [WINDOWS, null, "windows", ["x64", "ia32"]],
  [WINDOWS, X86, "windows", ["x64", "ia32"]],
  [WINDOWS, ARM, "windows", ["arm64", "x64", "ia32"]],
  [WINDOWS_32, null, "windows", ["ia32"]],
  [MAC, null, "macos", null],
  [MAC, X86, "macos", ["x64", "universal"]],
  [MAC, ARM, "macos", ["arm64", "universal", "x64"]],
  [LINUX, null, "linux", ["x64"]],
  [LINUX_ARM, null, "linux", ["arm64"]],
  [LINUX, ARM, "linux", ["arm64"]],
];

describe("the installer that a visitor is given", () => {
  let service: Service;

  beforeAll(async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "homeport-builds-"));
    const releases = PRODUCTS.flatMap(({ platform, builds, name }) =>
      builds.map((architecture) => manifestEntry({ product: name, platform, architecture })),
    );
    const RELEASE_CATALOG = path.join(folder, "catalog.json");
    await writeFile(RELEASE_CATALOG, manifestText(releases));
    service = await startService({ RATE_LIMITS: "off", RELEASE_CATALOG, ...(await anyDatabase()) });
  });
  afterAll(() => service.end("SIGKILL"));

  async function linksOf(page: string, userAgent: string, hint: string | null) {
    const headers = { "user-agent": userAgent, ...(hint ? { "sec-ch-ua-arch": hint } : {}) };
    const response = await service.fetch(page, { headers });
    expect(response.headers.get("accept-ch")).toBe("Sec-CH-UA-Arch");
    const links = [
      ...(await response.text()).matchAll(/<a class="(button[^"]*)" href="(\/api\/download[^"]*)">([^<]*)</g),
    ];
    return links.map(([, kind = "", href = "", label]) => {
      const query = new URL(href.replaceAll("&amp;", "&"), "http://localhost").searchParams;
      const isMain = kind === "button" || kind === "button main";
      return { label, isMain, product: query.get("product"), build: query.get("architecture") };
    });
  }

  test.each(BROWSERS)("%s with the hint %s", async (userAgent, hint, platform, runnable) => {
    const [home, downloads] = [await linksOf("/", userAgent, hint), await linksOf("/download", userAgent, hint)];
    for (const product of PRODUCTS) {
      const ofProduct = (links: typeof home) => links.filter((link) => link.product === product.name);
      const best = (runnable ?? ["universal"]).find((build) => product.builds.includes(build));
      const isOwn = product.platform === platform;
      const expected = isOwn ? (best ? [best] : runnable ? [] : product.builds) : [];
      expect([
        product.name,
        ofProduct(home)
          .map(({ build }) => build)
          .sort(),
      ]).toEqual([product.name, expected.toSorted()]);
      const main = [...ofProduct(home), ...ofProduct(downloads)]
        .filter(({ isMain }) => isMain)
        .map(({ build }) => build);
      expect([product.name, main]).toEqual([product.name, isOwn && best ? [best, best] : []]);
      expect(
        ofProduct(downloads)
          .map(({ build }) => build)
          .sort(),
      ).toEqual(product.builds.toSorted());
      for (const { label, build } of [...ofProduct(home), ...ofProduct(downloads)]) {
        const name = LABELS[`${product.platform} ${build}`] ?? build;
        expect(label).toContain(`for ${PLATFORM_LABELS[product.platform]} (${name})`);
      }
    }
  });
});
