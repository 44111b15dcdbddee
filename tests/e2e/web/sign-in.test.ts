import { randomUUID } from "node:crypto";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { IdentityProvider } from "@/tests/support/auth/identity-provider";
import type { Service } from "@/tests/support/process/service";
import { startWebService, type WebService } from "@/tests/support/process/web-service";
import { hasChromium, launchChromium, newPage } from "@/tests/support/web/chromium";

const PASSWORD = "a good long password";
const newEmail = () => `person-${randomUUID()}@example.com`;
const newSub = () => String(Math.floor(Math.random() * 2 ** 48));

describe.runIf(hasChromium)("in Chromium", () => {
  let browser: Browser;
  let web: WebService;

  beforeAll(async () => {
    [browser, web] = await Promise.all([launchChromium(), startWebService()]);
  });
  afterAll(async () => {
    await browser?.close();
    await web?.close();
  });

  const register = (service: Service, email: string) =>
    service.post("/api/auth/register", { email, password: PASSWORD });

  const session = async (page: Page): Promise<{ user?: { id: string; email: string } }> =>
    (await page.request.get(new URL("/api/auth/session", page.url()).href)).json();

  /** Signs in through the page to which next-auth sends people. */
  async function signIn(page: Page, email: string): Promise<void> {
    await page.goto(`${web.origin}/api/auth/signin`);
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.waitForURL(`${web.origin}/`);
  }

  /** Goes to a provider from that page, and back by the provider's button. */
  async function signInWith(page: Page, provider: IdentityProvider, name: string): Promise<void> {
    await page.goto(`${web.origin}/api/auth/signin?callbackUrl=${web.origin}/?welcome`);
    await page.click(`text=Sign in with ${name}`);
    await page.click(`text=Continue with ${provider.id}`);
    await page.waitForURL((url) => url.origin === web.origin);
  }

  const people = {
    Google: (email: string) => ({ sub: newSub(), claims: { email, email_verified: true, hd: "example.com" } }),
    Apple: (email: string) => ({ sub: newSub(), claims: { email, email_verified: "true" } }),
    GitHub: (email: string) => ({
      sub: newSub(),
      claims: { login: "ann", name: null, email: null },
      emails: [{ email, primary: true, verified: true }],
    }),
  };
  const providers = [
    ["Google", () => web.google],
    ["Apple", () => web.apple],
    ["GitHub", () => web.github],
  ] as const;

  // ASVS 3.7.3
  test("a page says which site a provider's sign-in leads to, and offers to stay, if that is configured", async () => {
    const noticing = await startWebService({ AUTH_LEAVING_NOTICE: "true" });
    onTestFinished(() => noticing.close());
    const { origin, google } = noticing;
    google.person = people.Google(newEmail());
    const page = await newPage(browser);
    await page.goto(`${origin}/sign-in`);
    await page.click("text=Sign in with Google");
    expect(await page.textContent("main")).toContain(new URL(google.origin).host);
    await page.click("text=Stay here");
    expect(page.url()).toBe(`${origin}/sign-in`);
    await page.click("text=Sign in with Google");
    await page.click("text=Continue to Google");
    await page.click(`text=Continue with ${google.id}`);
    await page.waitForURL(`${origin}/account`);
    expect((await page.request.get(`${origin}/leaving?provider=nobody`)).status()).toBe(404);
  });

  // ASVS 8.2.4
  test("a page asks a session in another browser to confirm who its user is, if that is configured, and its form then works", async () => {
    const strict = await startWebService({ AUTH_SESSION_CONTEXT: "true" });
    onTestFinished(() => strict.close());
    const [home, context] = [
      await newPage(browser),
      await browser.newContext({ ignoreHTTPSErrors: true, userAgent: "curl/8.5" }),
    ];
    const headers = { "sec-fetch-site": "same-origin" };
    const data = { email: newEmail(), password: PASSWORD };
    await home.request.post(`${strict.origin}/api/auth/register`, { data, headers });
    await context.addCookies(await home.context().cookies());
    const page = await context.newPage();
    await page.goto(`${strict.origin}/account/factors/totp`);
    expect(new URL(page.url()).pathname).toBe("/confirm");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.locator("form[action='/forms/confirm'] button[type=submit]").first().click();
    await page.waitForURL(`${strict.origin}/account/factors/totp`);
    await page.locator("form[action='/forms/account/factors/totp'] button[type=submit]").click();
    await page.getByRole("img", { name: "QR code" }).waitFor();
  });

  test("next-auth's sign-in page signs in with a password, and signs out", async () => {
    const email = newEmail();
    await register(web.service, email);
    const page = await newPage(browser);
    await signIn(page, email);
    expect(await session(page)).toMatchObject({ user: { email } });
    const cookies = await page.context().cookies();
    expect(cookies.find(({ name }) => name === "__Host-next-auth.session-token")).toMatchObject({
      httpOnly: true,
      secure: true,
      sameSite: "Lax",
    });
    await page.goto(`${web.origin}/api/auth/signout`);
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.waitForURL(`${web.origin}/sign-in?done=signed_out`);
    expect(await session(page)).toEqual({});
  });

  test("each provider is added to the account that is signed in, and signs in to it, which ends on the page that was requested", async () => {
    const [page, elsewhere] = [await newPage(browser), await newPage(browser)];
    const email = newEmail();
    const headers = { "sec-fetch-site": "same-origin" };
    await page.request.post(`${web.origin}/api/auth/register`, { data: { email, password: PASSWORD }, headers });
    for (const [name, provider] of providers) {
      provider().person = people[name](newEmail());
      await signInWith(page, provider(), name);
      expect([name, await session(page)]).toMatchObject([name, { user: { email } }]);
      await elsewhere.context().clearCookies();
      await signInWith(elsewhere, provider(), name);
      expect(elsewhere.url()).toBe(`${web.origin}/?welcome`);
      expect([name, await session(elsewhere)]).toMatchObject([name, { user: { email } }]);
      expect([name, provider().exchanges.at(-1)]).toEqual([name, "ok"]);
    }
  });

  test("a rejected sign-in is explained", async () => {
    const email = newEmail();
    await register(web.service, email);
    web.google.person = { sub: newSub(), claims: { email, email_verified: false } };
    const page = await newPage(browser);
    await signInWith(page, web.google, "Google");
    expect(await page.getByRole("alert").first().textContent()).toMatch(
      /^An account with this email already exists, and the provider cannot confirm that it is yours\. Sign in to that account/,
    );
    expect(await session(page)).toEqual({});
  });
});
