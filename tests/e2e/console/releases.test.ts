import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { firstOperatorLink } from "@/tests/support/console/first-operator";
import { anyDatabase, newDataDir } from "@/tests/support/process/service";
import { hasChromium } from "@/tests/support/web/chromium";
import { accessibilityFaults, serviceInChromium, signIn } from "@/tests/support/web/pages";

const PART_BYTES = 4 * 1024 * 1024;
/** The second part has the last percent. */
const SIZE_BYTES = PART_BYTES + 40_000;
const SMALL_BYTES = 200_000;
const OPERATOR = { email: "operator@example.com", password: "a password for the operator" };
const TARGET = "platform=windows&product=app&architecture=x64";

describe.runIf(hasChromium)("in Chromium", () => {
  const web = serviceInChromium(anyDatabase);

  /** Becomes the first operator, by the link that the service has printed. */
  async function becomeOperator(page: Page) {
    await page.goto(await firstOperatorLink(web.service));
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByLabel("Email").fill(OPERATOR.email);
    await page.getByLabel("Password").fill(OPERATOR.password);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.waitForURL("/console");
  }

  async function newBuild(version: string, sizeBytes: number): Promise<string> {
    const file = path.join(await newDataDir(), `app-${version}-x64.exe`);
    await writeFile(file, randomBytes(sizeBytes));
    return file;
  }

  async function publish(page: Page, version: string) {
    await page.getByRole("heading", { name: "2. Publish" }).waitFor();
    await page.getByRole("combobox", { name: "Product" }).fill("app");
    expect(await page.getByLabel("Version", { exact: true }).inputValue()).toBe(version);
    await page.getByLabel("This adds a new product").check();
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByText("The version was published.").waitFor();
    await page.getByText("Published by an operator").waitFor();
  }

  const upload = async (page: Page, file: string) => {
    await page.goto("/console/releases/upload");
    await page.getByLabel("Files", { exact: true }).setInputFiles(file);
  };

  async function offerFor(current: string, clientId?: string): Promise<string> {
    const query = `${TARGET}&current=${current}${clientId ? `&clientId=${clientId}` : ""}`;
    const response = await web.service.fetch(`/api/version?${query}`);
    const body = (await response.json()) as { version: string; updateAvailable: boolean };
    return body.updateAvailable ? body.version : "none";
  }

  /** Which of some clients are offered the new version. */
  async function reachedOf(clients: string[]): Promise<string[]> {
    const offers = await Promise.all(clients.map((client) => offerFor("1.0.0", client)));
    return clients.filter((_, i) => offers[i] === "2.0.0");
  }

  /** Follows a link to the preview, and confirms. */
  async function confirm(page: Page, button: string, outcome: string) {
    await page.getByRole("heading", { name: "Who gets what" }).waitFor();
    await page.getByRole("button", { name: button, exact: true }).click();
    await page.getByText(outcome).waitFor();
  }

  test("an operator uploads, publishes, rolls out, halts and rolls back, as clients notice", async () => {
    const { page, faults } = await web.visit();
    await becomeOperator(page);
    await page.goto("/console/releases");
    await upload(page, await newBuild("1.0.0", SMALL_BYTES));
    await page.getByText("Complete, 200 kB").waitFor();
    await publish(page, "1.0.0");

    // The connection breaks in the last part, and the page is reloaded.
    const file = await newBuild("2.0.0", SIZE_BYTES);
    let isBroken = true;
    await page.route("**/api/admin/uploads/*", async (route) => {
      const { method, offset } = {
        method: route.request().method(),
        offset: route.request().headers()["upload-offset"],
      };
      if (isBroken && method === "PATCH" && offset !== "0") await route.abort();
      else await route.continue();
    });
    await upload(page, file);
    await page.getByText("99%", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("Stopped at 99%").waitFor();
    isBroken = false;
    await page.reload();
    const resumed = page.waitForRequest((request) => request.method() === "PATCH");
    await page.getByLabel("Files", { exact: true }).setInputFiles(file);
    expect((await resumed).headers()["upload-offset"]).toBe(String(PART_BYTES));
    await page.getByText("Complete, 4.2 MB").waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await publish(page, "2.0.0");
    expect(await offerFor("1.0.0")).toBe("2.0.0");

    // Rolled out to a tenth of the clients.
    const setPercentage = async () => {
      for (const typed of ["11", "10"]) await page.getByLabel("Percent", { exact: true }).fill(typed);
      return page.getByRole("slider", { name: "Rollout" }).inputValue();
    };
    await expect.poll(setPercentage).toBe("10"); // once React runs
    await page.getByRole("button", { name: "Preview", exact: true }).click();
    await page.getByRole("heading", { name: "Who gets what" }).waitFor();
    const row = page.getByRole("row").filter({ has: page.getByRole("rowheader", { name: "1.0.0" }) });
    expect(await row.innerText()).toContain("no update to 90%");
    expect(await accessibilityFaults(page)).toEqual([]);
    await confirm(page, "Set the percentage", "The rollout was changed.");
    const reached = await reachedOf(Array.from({ length: 200 }, (_, i) => `client${i}`));
    expect([reached.length > 5, reached.length < 40]).toEqual([true, true]);

    // Scheduled, halted and resumed.
    await page.getByRole("button", { name: "Preview the first step" }).click();
    await confirm(page, "Schedule the rollout", "The rollout is scheduled.");
    await page.getByRole("link", { name: "Halt" }).click();
    await page.getByLabel("Reason").fill("It crashes.");
    await confirm(page, "Halt the rollout", "The rollout was halted.");
    expect(await page.getByText("It crashes.").isVisible()).toBe(true);
    expect(await reachedOf(reached)).toEqual([]);
    expect(await accessibilityFaults(page)).toEqual([]);

    // Rolled back: who has the version gets the older one.
    await page.getByRole("link", { name: "Roll back to 1.0.0" }).click();
    await confirm(page, "Roll back", "Clients roll back to this version.");
    expect(await offerFor("2.0.0")).toBe("1.0.0");
    await page.goto("/console/releases?product=app");
    expect(await page.getByRole("row").filter({ hasText: "2.0.0" }).innerText()).toContain("Yanked");
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto("/console/releases/app/stable/1.0.0");
    expect(await page.locator("html").evaluate((html) => html.scrollWidth > html.clientWidth)).toBe(false);
    // The broken connection, and a hint about when a style sheet was used.
    expect(faults.filter((fault) => !/ERR_FAILED|preloaded using link preload/.test(fault))).toEqual([]);
  });

  test("what is typed in the form stays when another file has arrived, until the operator asks for the file", async () => {
    const { page } = await web.visit();
    await signIn(page, OPERATOR);
    await upload(page, await newBuild("3.0.0", SMALL_BYTES));
    await page.getByText("Complete, 200 kB").waitFor();
    const notes = page.getByLabel("Release notes in Markdown (optional)");
    await page.waitForLoadState();
    await notes.fill("Much is new.");
    await page.getByLabel("Files", { exact: true }).setInputFiles(await newBuild("3.0.1", SMALL_BYTES));
    await page.getByText("The form below does not have what has arrived now.").waitFor();
    expect(await notes.inputValue()).toBe("Much is new.");
    await page.getByRole("link", { name: "Show all files in the form" }).click();
    await page.getByRole("group", { name: "app-3.0.1-x64.exe" }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });
});
