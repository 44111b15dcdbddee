import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anyDatabase, type Service, startService } from "@/tests/support/process/service";
import { manifestEntry } from "@/tests/support/releases/entries";
import { manifestText } from "@/tests/support/releases/releases";
import { hasChromium, launchChromium } from "@/tests/support/web/chromium";
import { accessibilityFaults, COLOR_RULES, visit } from "@/tests/support/web/pages";

const SOURCE = {
  repository: "acme/app",
  commit: "1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b",
  ref: "refs/tags/v2.0.0",
  runUrl: null,
};
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
      publishedBy: { type: "publisher", id: null, name: "acme/app", source: SOURCE },
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
    const settings = { RATE_LIMITS: "off", RELEASE_SOURCE_PUBLIC: "on", RELEASE_CATALOG, ...(await anyDatabase()) };
    [service, browser] = await Promise.all([startService(settings), launchChromium()]);
  });

  afterAll(async () => {
    await browser.close();
    await service.end("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  });

  test("offers the AppImage first and the packages beside it, each with its checksum", async () => {
    const { page, faults } = await visit(browser, service, { userAgent: LINUX });
    expect((await page.goto("/download"))?.headers()["accept-ch"]).toBe("Sec-CH-UA-Arch");
    expect(await page.getByRole("heading", { level: 2 }).allInnerTexts()).toEqual(["For Linux", "Other platforms"]);
    const product = page.getByRole("region", { name: "core for Linux, x64" });
    expect(await product.innerText()).toContain("Built by acme/app from commit 1a2b3c4");
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
