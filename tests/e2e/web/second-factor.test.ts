import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { Authenticator } from "@/tests/support/auth/authenticator";
import { anyDatabase } from "@/tests/support/process/service";
import { hasChromium } from "@/tests/support/web/chromium";
import {
  layoutFaults,
  newVisitor,
  newVisitorOn,
  type Person,
  serviceInChromium,
  signInOn,
} from "@/tests/support/web/pages";

const STEP_MS = 30_000;

describe.runIf(hasChromium)("in Chromium", () => {
  const web = serviceInChromium(anyDatabase);

  /** Adds an authenticator app on the page for it. The browser ends on the account page. */
  async function addApp(page: Page, look: () => Promise<void> = async () => {}) {
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("img", { name: "QR code" }).waitFor();
    await look();
    const key = await page.locator(".key").innerText();
    const app = new Authenticator(key.replaceAll(" ", ""));
    await page.getByRole("textbox", { name: "Code" }).fill(app.wrongCode());
    await page.getByRole("button", { name: "Add app" }).click();
    await page.getByText("That code is not current. Turn on automatic date and time.").waitFor();
    await page.getByRole("textbox", { name: "Code" }).fill(app.code());
    await page.getByRole("button", { name: "Add app" }).click();
    await page.waitForURL("/account/factors/recovery-codes");
    await look();
    const codes = await page.getByRole("listitem").locator("code").allInnerTexts();
    await page.getByRole("button", { name: "I have saved them" }).click();
    await page.waitForURL("/account");
    return { app, codes };
  }

  async function signInAgain(page: Page, person: Person): Promise<void> {
    await page.context().clearCookies();
    await signInOn(page, person);
    await page.waitForURL(/\/sign-in\/factor/);
  }

  test("a user adds an authenticator app, signs in with it, and removes it", async () => {
    const { page, faults } = await web.visit();
    const person = await newVisitor(page);
    await page.goto("/account/factors/totp");
    const look = async () => expect(await layoutFaults(page)).toEqual([]);
    const { app, codes } = await addApp(page, look);
    expect(codes).toHaveLength(10);
    const again = await (await page.request.get("/account/factors/recovery-codes")).text();
    expect(codes.filter((code) => again.includes(code))).toEqual([]); // shown once

    await signInAgain(page, person);
    await look();
    await page.getByRole("textbox", { name: "Code" }).fill(app.code(STEP_MS));
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.waitForURL("/account");
    await page.getByText("10 of 10 left").waitFor();
    await look();
    await page.getByRole("link", { name: "Remove authenticator app" }).click();
    await page.waitForURL("/account/factors/remove");
    await look();
    await page.getByRole("button", { name: "Remove authenticator app" }).click();
    await page.getByText("The authenticator app was removed.").waitFor();
    expect(faults).toEqual([]);
  });

  test("without JavaScript the same pages work, and a recovery code replaces the app", async () => {
    const { page } = await web.visit({ javaScriptEnabled: false });
    const person = await newVisitorOn(page);
    await page.getByRole("link", { name: "Add authenticator app" }).click();
    const { codes } = await addApp(page);
    await signInAgain(page, person);
    await page.getByRole("link", { name: "Use a recovery code" }).click();
    await page.getByLabel("Recovery code").fill("not one of them");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByText("This code is wrong, used or expired").waitFor();
    await page.getByLabel("Recovery code").fill(codes[0]?.toLowerCase() ?? "");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.waitForURL("/account");
    await page.getByText("9 of 10 left").waitFor();
  });

  test("the page for the code sends a browser without a challenge to the sign-in page", async () => {
    const page = "/sign-in/factor?callbackUrl=%2Faccount%2Fdelete";
    const response = await web.service.fetch(page, { redirect: "manual" });
    expect(response.status).toBe(307);
    expect(response.headers.get("location")).toBe("/sign-in?callbackUrl=%2Faccount%2Fdelete");
  });
});
