import { randomUUID } from "node:crypto";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { IdentityProvider } from "@/tests/support/auth/identity-provider";
import { mailbox } from "@/tests/support/mailbox";
import { startWebService, type WebService } from "@/tests/support/process/web-service";
import { hasChromium, launchChromium, newPage } from "@/tests/support/web/chromium";

const PASSWORD = "a good long password";
const newEmail = () => `person-${randomUUID()}@example.com`;
const newSub = () => String(Math.floor(Math.random() * 2 ** 48));

describe.runIf(hasChromium)("in Chromium", () => {
  let browser: Browser;
  let web: WebService;
  let strict: WebService;

  beforeAll(async () => {
    [browser, web, strict] = await Promise.all([
      launchChromium(),
      startWebService(),
      startWebService({ AUTH_REQUIRE_VERIFIED_EMAIL: "true" }),
    ]);
  }, 240_000);
  afterAll(async () => {
    await browser?.close();
    await web?.close();
    await strict?.close();
  });

  const register = (to: WebService, email: string) =>
    to.service.fetch("/api/auth/register", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email, password: PASSWORD }),
    });

  /** Who is signed in. */
  const session = async (page: Page): Promise<{ user?: { id: string; email: string } }> =>
    (await page.request.get(new URL("/api/auth/session", page.url()).href)).json();

  /** Signs in through the page to which next-auth sends people. */
  async function signIn(page: Page, origin: string, email: string): Promise<void> {
    await page.goto(`${origin}/api/auth/signin`);
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.waitForURL(`${origin}/`);
  }

  /** Goes to a provider from that page, and back by the provider's button. */
  async function signInWith(page: Page, origin: string, provider: IdentityProvider, name: string): Promise<void> {
    await page.goto(`${origin}/api/auth/signin?callbackUrl=${origin}/?welcome`);
    await page.click(`text=Sign in with ${name}`);
    await page.click(`text=Continue with ${provider.id}`);
    await page.waitForURL((url) => url.origin === origin);
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

  test("next-auth's sign-in page signs in with a password, and signs out", async () => {
    const email = newEmail();
    await register(web, email);
    const page = await newPage(browser);
    await signIn(page, web.origin, email);
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

  test.each(providers)("signing in with %s ends on the page that was requested", async (name, provider) => {
    const email = newEmail();
    provider().person = people[name](email);
    const page = await newPage(browser);
    await signInWith(page, web.origin, provider(), name);
    expect(page.url()).toBe(`${web.origin}/?welcome`);
    expect(await session(page)).toMatchObject({ user: { email } });
    expect(provider().exchanges.at(-1)).toBe("ok");
  });

  test.each(providers)("%s is added to the account that is signed in", async (name, provider) => {
    const email = newEmail();
    await register(web, email);
    const page = await newPage(browser);
    await signIn(page, web.origin, email);
    provider().person = people[name](newEmail());
    await signInWith(page, web.origin, provider(), name);
    expect(await session(page)).toMatchObject({ user: { email } });
    const elsewhere = await newPage(browser);
    await signInWith(elsewhere, web.origin, provider(), name);
    expect(await session(elsewhere)).toMatchObject({ user: { email } });
  });

  test("a rejected sign-in is explained", async () => {
    const email = newEmail();
    await register(web, email);
    web.google.person = { sub: newSub(), claims: { email, email_verified: false } };
    const page = await newPage(browser);
    await signInWith(page, web.origin, web.google, "Google");
    expect(await page.getByRole("alert").first().textContent()).toMatch(
      /^An account with this email already exists, and the provider cannot confirm that it is yours\. Sign in to that account/,
    );
    expect(await session(page)).toEqual({});
  });

  test("the emailed link and its button verify the email and sign in", async () => {
    const email = newEmail();
    expect((await register(strict, email)).status).toBe(202);
    const [link = ""] = /https:\/\/localhost\S+\/verify#token=\S+/.exec(await mailbox.waitFor(email)) ?? [];
    const page = await newPage(browser);
    await page.goto(link);
    const confirm = page.getByRole("button", { name: "Verify email" });
    await confirm.waitFor();
    expect(await session(page)).toEqual({});
    await page.getByLabel("Password").fill(PASSWORD);
    await confirm.click();
    await page.waitForURL(`${strict.origin}/account?done=email_verified`);
    expect(await session(page)).toMatchObject({ user: { email } });
    await page.goto(link);
    await page.getByLabel("Password").fill(PASSWORD);
    await confirm.click();
    await page.getByText("This link is no longer valid").waitFor();
  });
});
