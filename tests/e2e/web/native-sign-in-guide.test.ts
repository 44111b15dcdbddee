import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { examplesOf, runModules } from "@/tests/support/guide";
import { newDataDir, type Service, startService } from "@/tests/support/process/service";
import { hasChromium, launchChromium } from "@/tests/support/web/chromium";
import { accessibilityFaults, registerOn, visit } from "@/tests/support/web/pages";

type SignIn = (server: string, open: (...given: string[]) => unknown) => Promise<string>;
type App = { signIn: SignIn; signOut: (server: string, token: string) => Promise<void> };

const examples = examplesOf("native-sign-in");
const CLIENTS = [
  { id: "desktop", name: "Acme Desktop", redirectUris: ["http://127.0.0.1/callback"] },
  { id: "cli", name: "Acme CLI", redirectUris: [] },
];

test("the guide's runnable examples are these, and each is run here", () => {
  expect([...examples.keys()]).toEqual(["desktop.mjs", "cli.mjs"]);
});

describe.runIf(hasChromium)("in Chromium", () => {
  let browser: Browser;
  let service: Service;
  let server: string;
  beforeAll(async () => {
    const clients = path.join(await newDataDir(), "clients.json");
    await writeFile(clients, JSON.stringify(CLIENTS));
    [service, browser] = await Promise.all([startService({ OAUTH_CLIENTS: clients }), launchChromium()]);
    server = `http://localhost:${new URL(service.url).port}`;
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await service?.end("SIGKILL");
  });

  const run = (file: string): Promise<App> =>
    runModules({ [file]: examples.get(file) ?? "" }, { "openid-client": null, oauth4webapi: null, jose: null });
  const statusOf = async (token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` };
    return (await service.fetch("/api/subscription/status", { headers })).status;
  };

  test("the desktop example signs in through the page, and signs out", async () => {
    const { page, faults } = await visit(browser, service);
    const person = await registerOn(page, "Ann");
    const { signIn, signOut } = await run("desktop.mjs");
    const token = await signIn(server, async (url = "") => {
      await page.goto(url);
      expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Continue to Acme Desktop");
      expect(await page.locator("main").textContent()).toContain(person.email);
      expect(await accessibilityFaults(page)).toEqual([]);
      expect(faults).toEqual([]);
      await page.getByRole("button", { name: "Continue as Ann" }).click({ noWaitAfter: true });
    });
    await page.getByText("You can close this window.").waitFor();
    expect(await statusOf(token)).toBe(200);
    await signOut(server, token);
    expect(await statusOf(token)).toBe(401);
  });

  test("without JavaScript, and signed out, the desktop example comes back after the sign-in", async () => {
    const { page: registered } = await visit(browser, service);
    const person = await registerOn(registered);
    const { page } = await visit(browser, service, { javaScriptEnabled: false });
    const { signIn } = await run("desktop.mjs");
    const token = await signIn(server, async (url = "") => {
      await page.goto(url);
      await fillIn(page, person);
      await page.getByRole("button", { name: `Continue as ${person.email}` }).click({ noWaitAfter: true });
    });
    expect(await statusOf(token)).toBe(200);
  });

  test("a user who cancels sends the desktop example access_denied", async () => {
    const { page } = await visit(browser, service);
    await registerOn(page);
    const { signIn } = await run("desktop.mjs");
    const cancelled = signIn(server, async (url = "") => {
      await page.goto(url);
      await page.getByRole("button", { name: "Cancel" }).click({ noWaitAfter: true });
    });
    await expect(cancelled).rejects.toMatchObject({ error: "access_denied" });
  });

  test("the command line example signs in with the code that a person types", async () => {
    const { page, faults } = await visit(browser, service);
    const person = await registerOn(page);
    const { signIn } = await run("cli.mjs");
    let typed = Promise.resolve();
    const token = await signIn(server, (code = "") => {
      typed = typeCode(page, code.toLowerCase());
    });
    await typed;
    expect(await statusOf(token)).toBe(200);
    expect(await page.getByText("Your device is signed in").count()).toBe(1);
    await page.goto("/account");
    expect(await page.getByText("Acme CLI").count()).toBeGreaterThan(0);
    expect(await page.locator("main").textContent()).toContain(person.email);
    expect(faults).toEqual([]);
  });

  test("a device's link asks a signed-out person to sign in, and then shows what asks", async () => {
    const { page: registered } = await visit(browser, service);
    const person = await registerOn(registered);
    const { page } = await visit(browser, service);
    const response = await service.fetch("/api/auth/oauth/device", {
      method: "POST",
      body: new URLSearchParams({ client_id: "cli" }),
    });
    const { verification_uri_complete } = (await response.json()) as { verification_uri_complete: string };
    await page.goto(verification_uri_complete);
    await fillIn(page, person);
    await page.getByText("Acme CLI").waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole("button", { name: "Refuse" }).click();
    await page.getByText("The request was refused").waitFor();
  });

  test("a request of an unknown app leads nowhere", async () => {
    const { page } = await visit(browser, service);
    await page.goto("/authorize?client_id=unknown&redirect_uri=http://127.0.0.1/callback");
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("This link does not work");
    expect(await page.getByRole("button", { name: "Continue" }).count()).toBe(0);
  });
});

async function fillIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

async function typeCode(page: Page, code: string): Promise<void> {
  await page.goto("/device");
  await page.getByLabel("Code").fill(code);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Allow" }).click();
  await page.waitForURL(/done=allowed/);
}
