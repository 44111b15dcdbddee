import { randomUUID } from "node:crypto";
import { Client } from "pg";
import type { BrowserContextOptions, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { postgresUrl } from "@/tests/support/database";
import { mailbox } from "@/tests/support/mailbox";
import { anyDatabase } from "@/tests/support/process/service";
import { hasChromium } from "@/tests/support/web/chromium";
import { newVisitor, serviceInChromium, submitSignIn } from "@/tests/support/web/pages";

const CLIENTS = [{ id: "desktop", name: "Example Desktop", redirectUris: ["http://127.0.0.1/callback"] }];
const AUTHORIZATION = {
  response_type: "code",
  client_id: "desktop",
  redirect_uri: "http://127.0.0.1:1234/callback",
  code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
  code_challenge_method: "S256",
  state: "state-of-the-app",
};
const OWN_PAGE = { "sec-fetch-site": "same-origin" };

describe.runIf(hasChromium)("in Chromium", () => {
  const web = serviceInChromium(async () => {
    const SMTP_URL = await mailbox.start();
    settings = { SMTP_URL, OAUTH_CLIENTS: JSON.stringify(CLIENTS), ...(await anyDatabase()) };
    return settings;
  });
  let settings: Record<string, string>;

  const signOut = (page: Page) => page.request.post("/forms/sign-out", { form: {}, headers: OWN_PAGE });

  test("a new customer of an app sees its name, creates an account and returns to the app", async () => {
    const { page, faults } = await web.visit();
    await page.goto(`/authorize?${new URLSearchParams(AUTHORIZATION)}`);
    await page.getByText("To continue to Example Desktop, sign in.").waitFor();
    expect(await page.getByText("Sign in to continue.").count()).toBe(0);
    await page.getByRole("link", { name: "Create account" }).click();
    await page.getByLabel("Email").fill(`new-${randomUUID()}@example.com`);
    await page.getByLabel("Password").fill("a password for pages");
    await page.getByRole("button", { name: "Create account" }).click();
    await page.waitForURL(/\/authorize\?.*state=state-of-the-app/);
    await page.getByRole("heading", { name: /Example Desktop/ }).waitFor();
    expect(faults).toEqual([]);
  });

  test("a name that is sent after the session has ended is filled in again, for its account only", async () => {
    const { page } = await web.visit();
    const person = await newVisitor(page, "Ann");
    const other = await newVisitor((await web.visit()).page);
    const send = async () => {
      await page.goto("/account/name");
      await page.getByLabel("Name").fill("Ann of the long name");
      await signOut(page);
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Sign in to continue.").waitFor();
    };
    await send();
    await submitSignIn(page, person);
    await page.getByText("This was not sent, because you had to sign in again.").waitFor();
    expect(await page.getByLabel("Name").inputValue()).toBe("Ann of the long name");
    await page.getByRole("button", { name: "Save" }).click();
    await page.waitForURL(/\/account\?done=/);
    await send();
    await submitSignIn(page, other);
    await page.waitForURL(/\/account\/name/);
    expect(await page.getByLabel("Name").inputValue()).toBe("");
  });

  async function ageSessions() {
    const database = new Client({ connectionString: settings.DATABASE_URL });
    await database.connect();
    await database.query(`UPDATE "Session" SET "authenticatedAt" = now() - interval '1 hour'`);
    await database.end();
  }

  test.runIf(postgresUrl)("a page that was opened long ago asks who it is, and does what was wanted", async () => {
    const { page, faults } = await web.visit();
    const person = await newVisitor(page);
    await page.goto("/account/factors/totp");
    await ageSessions();
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("heading", { name: "Confirm that it’s you" }).waitFor();
    await page.getByLabel("Password").fill(person.password);
    await page.getByRole("button", { name: "Continue" }).first().click();
    await page.getByRole("img", { name: "QR code" }).waitFor();
    expect(faults).toEqual([]);
  });

  /** A person in a browser and an app, whose sessions are an hour old. */
  async function withOldSessions(options: BrowserContextOptions = {}) {
    const { page, faults } = await web.visit(options);
    const person = await newVisitor(page);
    const login = await web.service.post("/api/auth/login", { ...person, deviceName: "MacBook" });
    const { token } = (await login.json()) as { token: string };
    await ageSessions();
    await page.goto("/account");
    await page.getByRole("button", { name: "Sign out MacBook" }).click();
    await page.getByRole("heading", { name: "Confirm that it’s you" }).waitFor();
    await page.getByLabel("Password").fill(person.password);
    const authorization = `Bearer ${token}`;
    const status = async () =>
      (await web.service.fetch("/api/subscription/status", { headers: { authorization } })).status;
    return { page, faults, status };
  }

  test.runIf(postgresUrl)("what needs a confirmation goes on after it, once", async () => {
    const { page, faults, status } = await withOldSessions();
    expect(await status()).toBe(200);
    await page.locator("form[action='/forms/confirm'] button[type=submit]").first().click();
    await page.getByText("The session was signed out.").waitFor();
    expect(await status()).toBe(401);
    await page.goBack();
    await page.getByRole("heading", { name: "Your account" }).waitFor();
    expect(new URL(page.url()).search).not.toContain("formErrors");
    expect(faults).toEqual([]);
  });

  test.runIf(postgresUrl)("without JavaScript it goes on by a button", async () => {
    const { page, status } = await withOldSessions({ javaScriptEnabled: false });
    await page.locator("form[action='/forms/confirm'] button[type=submit]").first().click();
    await page.getByText("This was not sent").waitFor();
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("The session was signed out.").waitFor();
    expect(await status()).toBe(401);
  });
});
