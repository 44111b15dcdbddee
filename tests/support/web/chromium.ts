import { existsSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";

const USUAL = [
  "/usr/bin/chromium",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** The browser that CHROMIUM names, else one where it usually is; without one its tests do not run. */
export const chromiumPath = process.env.CHROMIUM || USUAL.find((file) => existsSync(file));

/** What its tests are called; where they are left out, with the reason. */
export const inChromium = chromiumPath ? "in Chromium" : "in Chromium, left out: none is here, CHROMIUM names one";

/** Starts it. */
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
