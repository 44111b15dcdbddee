import { readFile } from "node:fs/promises";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { billingEvent, signature } from "@/tests/support/billing/billing";
import { mailbox } from "@/tests/support/mailbox";
import { type Service, startService } from "@/tests/support/process/service";
import { newToken } from "@/tests/support/push/push";
import { chromiumPath, inChromium, launchChromium } from "@/tests/support/web/chromium";
import { registerOn, signInOn, visit } from "@/tests/support/web/pages";

/** Two processes that a busy machine takes long to start. */
const STARTS_MS = 180_000;
const NEW_PASSWORD = "another password for pages";

describe.runIf(chromiumPath)(inChromium, () => {
  let service: Service;
  let browser: Browser;

  beforeAll(async () => {
    service = await startService({ RATE_LIMITS: "off", SMTP_URL: await mailbox.start() });
    browser = await launchChromium();
  }, STARTS_MS);

  afterAll(async () => {
    await browser.close();
    expect(await service.end("SIGTERM")).toBe(0);
  });

  /** Signs in elsewhere, as a native app does. Returns the token. */
  async function signInElsewhere(person: { email: string; password: string }, deviceName: string): Promise<string> {
    const response = await service.fetch("/api/auth/login", {
      method: "POST",
      body: JSON.stringify({ ...person, deviceName }),
      headers: { "content-type": "application/json" },
    });
    return ((await response.json()) as { token: string }).token;
  }

  const statusWith = async (token: string) =>
    (await service.fetch("/api/subscription/status", { headers: { authorization: `Bearer ${token}` } })).status;

  test("a newcomer registers, signs out, signs in again, and removes a device", async () => {
    const { page, faults } = await visit(browser, service);
    const person = await registerOn(page, "Ann Example");
    expect(await page.getByRole("region", { name: "Profile" }).innerText()).toContain("Ann Example");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You are signed out.").waitFor();

    await signInOn(page, { ...person, password: "not the password" });
    await page.getByText("The e-mail address or the password is wrong").waitFor();
    expect(await page.getByLabel("E-mail").inputValue()).toBe(person.email);
    await page.getByLabel("Password").fill(person.password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL("/account");

    const registered = await page.request.post("/api/push/register", {
      data: { token: newToken(), device: { name: "Ann's iPhone", model: "iPhone17,1", osVersion: "20.1" } },
      headers: { "sec-fetch-site": "same-origin" },
    });
    expect(registered.status()).toBe(202);
    await page.reload();
    await page.getByRole("button", { name: "Remove Ann's iPhone" }).click();
    await page.getByText("The device is removed.").waitFor();
    expect(await page.getByText("Ann's iPhone").count()).toBe(0);
    expect(faults).toEqual([]);
  });

  test("a page asked for before signing in is the page that comes after", async () => {
    const { page } = await visit(browser, service);
    const person = await registerOn(page);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You are signed out.").waitFor();
    await page.goto("/account/delete");
    await page.getByText("Sign in to go on.").waitFor();
    await page.getByLabel("E-mail").fill(person.email);
    await page.getByLabel("Password").fill(person.password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL("/account/delete");
  });

  test("the back button shows nothing of an account that was signed out", async () => {
    const { page } = await visit(browser, service);
    const { email } = await registerOn(page);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You are signed out.").waitFor();
    await page.goBack();
    await page.getByText("Sign in to go on.").waitFor();
    expect(await page.content()).not.toContain(email);
  });

  test("a tab whose session was ended in another is led to the sign-in page, and nothing is done", async () => {
    const { page } = await visit(browser, service);
    const person = await registerOn(page);
    const token = await signInElsewhere(person, "Ann's MacBook");
    await page.reload();
    const other = await page.context().newPage();
    await other.goto("/account");
    await other.getByRole("button", { name: "Sign out" }).click();
    await other.getByText("You are signed out.").waitFor();
    await page.getByRole("button", { name: "End the session of Ann's MacBook" }).click();
    await page.getByText("Sign in to go on.").waitFor();
    expect(await statusWith(token)).toBe(200);
  });

  test("one session can be ended, and all others at once", async () => {
    const { page } = await visit(browser, service);
    const person = await registerOn(page);
    const tokens = [];
    for (const name of ["MacBook", "Studio", "Laptop"]) tokens.push(await signInElsewhere(person, name));
    await page.reload();
    await page.getByRole("button", { name: "End the session of MacBook" }).click();
    await page.getByText("The session is ended.").waitFor();
    expect(await Promise.all(tokens.map(statusWith))).toEqual([401, 200, 200]);
    await page.getByRole("button", { name: "End all others" }).click();
    await page.getByText("You are signed out everywhere else.").waitFor();
    expect(await Promise.all(tokens.map(statusWith))).toEqual([401, 401, 401]);
    expect(await page.getByRole("region", { name: "What happened lately" }).innerText()).toContain("Signed out");
  });

  test("the export is one file with the account in it", async () => {
    const { page } = await visit(browser, service);
    const { email } = await registerOn(page);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Export my data" }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^account-export-\d{4}-\d\d-\d\d\.json$/);
    const data = JSON.parse(await readFile(await download.path(), "utf8"));
    expect(data).toMatchObject({ schema: "account-export", account: { email } });
  });

  test("an account is deleted only with its password and the word, and says what a store goes on charging", async () => {
    const { page, faults } = await visit(browser, service);
    const person = await registerOn(page);
    await page.getByRole("link", { name: "Delete my account" }).click();
    await page.getByLabel("Your password").fill("not the password");
    await page.getByLabel("Type DELETE to confirm").fill("DELETE");
    await page.getByRole("button", { name: "Delete my account" }).click();
    await page.getByText("This is not your password").waitFor();
    expect(await page.evaluate(() => document.activeElement?.getAttribute("name"))).toBe("password");
    await page.getByLabel("Your password").fill(person.password);
    await page.getByRole("button", { name: "Delete my account" }).click();
    await page.waitForURL("/deleted");
    expect(await page.getByRole("main").innerText()).toContain("A subscription bought in a store goes on");
    await signInOn(page, person);
    await page.getByText("The e-mail address or the password is wrong").waitFor();
    expect(faults).toEqual([]);
  });

  const linkIn = (mail: string): string => /http\S+\/reset#token=\S+/.exec(mail)?.[0] ?? "";

  test("a subscription is told in words, with where to manage it", async () => {
    const { page } = await visit(browser, service);
    await registerOn(page);
    const subscription = page.getByRole("region", { name: "Subscription" });
    expect(await subscription.innerText()).toContain("You have no subscription.");
    const { user } = (await (await page.request.get("/api/auth/session")).json()) as { user: { id: string } };
    const event = billingEvent("INITIAL_PURCHASE", { app_user_id: user.id });
    const body = JSON.stringify({ api_version: "1.0", event });
    const headers = { "content-type": "application/json", "x-revenuecat-webhook-signature": signature(body) };
    const path = "/api/subscription/billing-provider-webhook";
    expect((await service.fetch(path, { method: "POST", body, headers })).status).toBe(200);
    await page.reload();
    expect(await subscription.innerText()).toMatch(/Active\. Renews on \d+ \w+ \d{4}\./);
    expect(await subscription.getByRole("link", { name: "Manage" }).getAttribute("href")).toMatch(
      /^https:\/\/apps\.apple/,
    );
  });

  test("a forgotten password is reset by the mailed link: the old session is gone, and the link with it", async () => {
    const { page: old } = await visit(browser, service);
    const person = await registerOn(old);

    const { page, faults } = await visit(browser, service);
    await page.goto("/forgot");
    await page.getByLabel("E-mail").fill(person.email);
    await page.getByRole("button", { name: "Send the link" }).click();
    await page.getByText("a mail is on its way").waitFor();
    const link = linkIn(await mailbox.waitFor(person.email));

    await page.goto(link);
    await page.getByLabel("New password").fill(NEW_PASSWORD);
    await page.waitForURL("/reset");
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByText("Your password is changed").waitFor();
    await old.reload();
    await old.getByText("Sign in to go on.").waitFor();

    await signInOn(page, { ...person, password: NEW_PASSWORD });
    await page.waitForURL("/account");
    expect(faults).toEqual([]);

    const { page: late } = await visit(browser, service);
    await late.goto(link);
    await late.getByLabel("New password").fill(NEW_PASSWORD);
    await late.getByRole("button", { name: "Change the password" }).click();
    await late.getByText("This link is no longer valid. Ask for a new one.").waitFor();
  });

  test("a mailed link that holds no token, as programs break them, is asked for in words", async () => {
    const { page } = await visit(browser, service);
    for (const path of ["/reset", "/verify"]) {
      await page.goto(`${path}#token=${"x".repeat(300)}`);
      await page.waitForURL(path);
      await page.getByLabel(path === "/reset" ? "New password" : "Password").fill(NEW_PASSWORD);
      await page.getByRole("main").getByRole("button").click();
      await page.getByText("Must be at most 256 characters long").waitFor();
      expect(await page.evaluate(() => document.activeElement?.getAttribute("name"))).toBe("token");
      await page.getByLabel("The link from the mail").fill(`https://home.example${path}#token=used`);
      await page.getByRole("main").getByRole("button").click();
      await page.getByText("This link is no longer valid.").waitFor();
    }
  });

  test("without JavaScript a forgotten password is reset by pasting the mailed link", async () => {
    const { page } = await visit(browser, service, { javaScriptEnabled: false });
    const person = await registerOn(page);
    await page.goto("/forgot");
    await page.getByLabel("E-mail").fill(person.email);
    await page.getByRole("button", { name: "Send the link" }).click();
    await page.getByText("a mail is on its way").waitFor();
    const link = linkIn(await mailbox.waitFor(person.email));
    await page.goto(link);
    await page.getByLabel("The link from the mail").fill(link);
    await page.getByLabel("New password").fill("short");
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByText("Must be at least 8 characters long").waitFor();
    await page.getByLabel("The link from the mail").fill(link);
    await page.getByLabel("New password").fill(NEW_PASSWORD);
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByText("Your password is changed").waitFor();
    await signInOn(page, { ...person, password: NEW_PASSWORD });
    await page.waitForURL("/account");
  });

  test("a callbackUrl of another host leads nowhere but to the account", async () => {
    const { page, faults } = await visit(browser, service);
    const person = await registerOn(page);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You are signed out.").waitFor();
    await page.goto("/sign-in?callbackUrl=https://evil.example/account");
    await page.getByLabel("E-mail").fill(person.email);
    await page.getByLabel("Password").fill(person.password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL("/account");
    expect(faults).toEqual([]);
  });
});
