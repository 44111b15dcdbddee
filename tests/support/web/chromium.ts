import { existsSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";
import { requirement } from "@/tests/support/requirements";

/** The shell first: pages take less than half of the CPU time without the windows of a whole browser. */
const USUAL = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** The browser that CHROMIUM names, else one in a usual place. */
const chromiumPath = process.env.CHROMIUM || USUAL.find((file) => existsSync(file));

export const hasChromium = requirement("Chromium (or CHROMIUM, its path)", chromiumPath !== undefined);

export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
    ],
  });
}

/** A page with a memory of its own, as of somebody who was never here. It trusts the tests' own certificates. */
export async function newPage(browser: Browser): Promise<Page> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  context.setDefaultTimeout(60_000);
  return context.newPage();
}
