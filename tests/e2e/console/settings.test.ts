import { readFile } from "node:fs/promises";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { becomeAdminOn } from "@/tests/support/console/first-admin";
import { startReceiver, verifyWebhook } from "@/tests/support/network/webhook-receiver";
import { operatorKeyOf, type Service, startService } from "@/tests/support/process/service";
import { hasChromium, launchChromium } from "@/tests/support/web/chromium";
import { accessibilityFaults, COLOR_RULES, newVisitorOn, type Person, signIn, visit } from "@/tests/support/web/pages";

const LONG_MS = 180_000;
const PAGES = [
  "/console",
  "/console/settings",
  "/console/settings/operators",
  "/console/settings/keys",
  "/console/settings/webhooks",
  "/console/settings/audit",
  "/console/settings/audit?account=1",
];
const POLL = { timeout: 60_000, interval: 100 };
const MARKUP = `<img src=x onerror="document.title='run'">`;

describe.runIf(hasChromium)("the console in Chromium", () => {
  let service: Service;
  let browser: Browser;
  let admin: Person;

  beforeAll(async () => {
    [service, browser] = await Promise.all([startService({ RATE_LIMITS: "off" }), launchChromium()]);
    const context = await browser.newContext({ baseURL: `http://localhost:${new URL(service.url).port}` });
    admin = await becomeAdminOn(await context.newPage(), service);
    await context.close();
  }, LONG_MS);

  afterAll(async () => {
    await browser.close();
    expect(await service.end("SIGTERM")).toBe(0);
  });

  async function openAsAdmin(options = {}) {
    const visited = await visit(browser, service, options);
    await signIn(visited.page, admin);
    return visited;
  }

  test(
    "its pages are accessible in light and dark mode, fit a narrow screen and log no errors",
    async () => {
      const { page, faults } = await openAsAdmin();
      for (const path of PAGES) {
        await page.setViewportSize({ width: 1280, height: 720 });
        await page.emulateMedia({ colorScheme: "light" });
        expect((await page.goto(path))?.status()).toBe(200);
        expect([path, "light", await accessibilityFaults(page)]).toEqual([path, "light", []]);
        await page.emulateMedia({ colorScheme: "dark" });
        expect([path, "dark", await accessibilityFaults(page, COLOR_RULES)]).toEqual([path, "dark", []]);
        await page.setViewportSize({ width: 360, height: 740 });
        const beyond = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        expect([path, beyond, faults]).toEqual([path, 0, []]);
      }
    },
    LONG_MS,
  );

  test("a stranger signs in and arrives at the page, finds back from a dead link, and a customer is told that it does not exist", async () => {
    const { page: stranger } = await visit(browser, service);
    await stranger.goto("/console/settings/keys");
    await stranger.getByLabel("Email").fill(admin.email);
    await stranger.getByLabel("Password").fill(admin.password);
    await stranger.getByRole("button", { name: "Sign in" }).click();
    await stranger.waitForURL("/console/settings/keys");
    expect((await stranger.goto("/console/nothing"))?.status()).toBe(404);
    await stranger.locator("summary").click();
    await stranger.getByRole("link", { name: "Console" }).click();
    await stranger.waitForURL("/console");
    const { page: customer } = await visit(browser, service, { javaScriptEnabled: false });
    await newVisitorOn(customer);
    for (const path of PAGES) {
      expect([path, (await customer.goto(path))?.status()]).toEqual([path, 404]);
      expect(await customer.getByRole("heading").allInnerTexts()).toEqual(["Not found"]);
    }
  });

  test("without JavaScript on a phone, an admin creates a key, sees it once and revokes it", async () => {
    const { page } = await openAsAdmin({ javaScriptEnabled: false, viewport: { width: 360, height: 740 } });
    await page.goto("/console");
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("link", { name: "API keys" }).click();
    await page.getByLabel("Name").fill("Release pipeline");
    await page.getByLabel("releases:write").check();
    await page.getByRole("button", { name: "Create key" }).click();
    const shown = page.getByRole("region", { name: "The new key" });
    const key = await shown.locator("code").innerText();
    const status = async () =>
      (await service.fetch("/api/admin/releases", { headers: { authorization: `Bearer ${key}` } })).status;
    expect(await status()).toBe(200);
    await shown.getByRole("button", { name: "I have kept it" }).click();
    await page.waitForURL("/console/settings/keys");
    expect(await page.content()).not.toContain(key);
    await page.getByRole("button", { name: "Revoke Release pipeline" }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.innerText()).toContain("releases:write");
    await dialog.getByRole("button", { name: "Revoke the key" }).click();
    await page.getByText("The key was revoked.").waitFor();
    expect(await status()).toBe(401);
  });

  test("an admin makes a customer support, who sees the console without what admins change", async () => {
    const { page: customer } = await visit(browser, service);
    const { email } = await newVisitorOn(customer);
    const { page } = await openAsAdmin();
    await page.goto("/console/settings/operators");
    await page.getByLabel("Email").fill(email);
    await page.getByRole("button", { name: "Give the role" }).click();
    await page.getByText("The role was changed.").waitFor();
    await customer.goto("/console/settings/operators");
    expect(await customer.getByRole("row").filter({ hasText: email }).innerText()).toContain("Support");
    expect(await customer.getByRole("button", { name: /Change role|Give the role/ }).count()).toBe(0);
    for (const path of ["keys", "audit"]) {
      expect((await customer.goto(`/console/settings/${path}`))?.status()).toBe(404);
    }
    expect(await customer.getByRole("link", { name: "Audit trail" }).count()).toBe(0);
    await page.goto("/console/settings/audit");
    await page.getByLabel("Event", { exact: true }).selectOption("Role changed");
    await page.getByRole("button", { name: "Filter" }).click();
    const change = page.getByRole("row").filter({ hasText: email });
    expect(await change.innerText()).toContain("user → support");
    expect(await change.innerText()).toContain(admin.email);
  });

  test("an admin filters the audit trail, goes through its pages, and downloads what the filters show", async () => {
    const authorization = `Bearer ${await operatorKeyOf(service)}`;
    const headers = { authorization, "content-type": "application/json" };
    for (const name of ["First", MARKUP]) {
      const body = JSON.stringify({ name, scopes: ["audit:read"] });
      expect((await service.fetch("/api/admin/keys", { method: "POST", headers, body })).status).toBe(201);
    }
    const { page, faults } = await openAsAdmin();
    await page.goto("/console/settings/audit?limit=1&type=key_created");
    const row = page.getByRole("row").filter({ hasText: "API key created" });
    expect(await row.innerText()).toContain(`Name: ${MARKUP}`);
    expect([await page.title(), faults]).toEqual(["Audit trail – Console", []]);
    await row.getByRole("link", { name: /^operator/ }).click();
    await page.waitForURL(/\?actor=operator/);
    await page.goBack();
    await page.getByRole("link", { name: "Next page" }).click();
    await row.getByText("Name: First").waitFor();
    const downloading = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download as CSV" }).click();
    const [, ...lines] = (await readFile(await (await downloading).path(), "utf8")).trim().split("\r\n");
    expect(lines.length).toBeGreaterThanOrEqual(2);
    for (const line of lines) expect(line).toContain(",key_created,");
    await page.goto("/console/settings/audit?from=2999-01-01");
    await page.getByText("No event fits the filters").waitFor();
    await page.goto("/console/settings/audit?from=2026-11-22T10:30:15%2B01:00");
    expect(await page.getByLabel("From (UTC)").inputValue()).toBe("2026-11-22T09:30:15");
    await page.goto("/console/settings/audit?from=0000-01-01");
    await page.getByText("Must be in the years 1 to 9999", { exact: true }).waitFor();
    await page.goto("/console/settings/audit?account=1");
    await page.getByText("This link has filters that the page does not accept").waitFor();
    await page.getByText("Invalid UUID", { exact: true }).waitFor();
  });

  /** Registers an account and gives it a role. Returns its id. */
  async function register(person: Person, role: "user" | "support"): Promise<string> {
    const post = async (path: string, body: object) => {
      const authorization = `Bearer ${await operatorKeyOf(service)}`;
      const headers = { "content-type": "application/json", ...(path.startsWith("/api/admin") && { authorization }) };
      const response = await service.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
      return (await response.json()) as { user: { id: string } };
    };
    const { user } = await post("/api/auth/register", person);
    if (role !== "user") await post(`/api/admin/accounts/${user.id}/grant`, { role });
    return user.id;
  }

  test(
    "without JavaScript, an admin creates a webhook endpoint, and mends what failed while its receiver was down",
    async () => {
      const receiver = await startReceiver();
      const { page } = await openAsAdmin({ javaScriptEnabled: false });
      const dialog = page.getByRole("dialog");
      const shows = (text: RegExp) =>
        expect.poll(() => page.reload().then(() => page.getByRole("main").innerText()), POLL).toMatch(text);
      await page.goto("/console/settings/webhooks");
      await page.getByLabel("URL").fill(receiver.url);
      await page.getByLabel("account.created").check();
      await page.getByLabel("Description").fill(MARKUP);
      await page.getByRole("button", { name: "Create endpoint" }).click();
      const secret = await page.getByRole("region", { name: "The secret" }).locator("code").innerText();
      await page.getByRole("button", { name: "I have kept it" }).click();
      expect(await page.content()).not.toContain(secret);
      const endpoint = new URL(page.url()).pathname;

      await page.getByRole("button", { name: "Send a test" }).click();
      await dialog.getByRole("button", { name: "Send the test" }).click();
      await shows(/^webhook\.test delivered/m);
      expect(receiver.received.map((one) => verifyWebhook(secret, one).type)).toEqual(["webhook.test"]);

      receiver.respond = (response) => response.destroy(); // it is down
      const customer = { email: `customer-${crypto.randomUUID()}@example.com`, password: "a password for pages" };
      const accountId = await register(customer, "user");
      await page.goto(endpoint);
      await shows(/^account\.created\s[^–]*\spending\s+\d\s[^–]*\ssocket hang up\s/m);
      await page.goto("/console");
      await page.getByText("1 of 1 endpoints fails").waitFor();
      await page.getByRole("link", { name: "Webhooks" }).last().click();
      await page.getByRole("link", { name: MARKUP }).click();
      receiver.respond = (response) => response.end(MARKUP);
      await page.getByRole("button", { name: /^Retry account\.created/ }).click();
      await dialog.getByRole("button", { name: "Deliver it now" }).click();
      await page.getByText("The delivery is queued again.").waitFor();
      await page.getByRole("link", { name: "account.created", exact: true }).click();
      await shows(/^account\.created delivered/m);
      expect(await page.getByRole("region", { name: "Payload" }).innerText()).toContain(accountId);
      expect(await page.getByRole("region", { name: "Response" }).innerText()).toContain(MARKUP);
      const delivery = new URL(page.url()).pathname;

      await page.goto(`${endpoint}?limit=1&state=delivered`);
      await page.getByRole("link", { name: "Next page" }).click();
      await page.getByRole("link", { name: "webhook.test" }).waitFor();
      receiver.received.length = 0;
      await page.getByRole("button", { name: "Replay" }).click();
      await dialog.getByLabel("Also those that were delivered").check();
      await dialog.getByRole("button", { name: "Replay the events" }).click();
      await page.getByText("The events are queued again.").waitFor();
      await expect.poll(() => receiver.received.map(({ body }) => body).join(), POLL).toContain(accountId);

      await expectReadOnly([endpoint, delivery]);
      await page.goto(endpoint);
      await page.getByRole("button", { name: "Delete" }).click();
      expect(await dialog.innerText()).toContain("The log of 3 deliveries is deleted");
      await dialog.getByRole("button", { name: "Delete the endpoint" }).click();
      await page.getByText("The endpoint was deleted").waitFor();
      expect((await page.goto(endpoint))?.status()).toBe(404);
    },
    LONG_MS,
  );

  /** Support sees the pages, and nothing to change on them. They are accessible, and run no markup. */
  async function expectReadOnly(paths: string[]): Promise<void> {
    const support = { email: `support-${crypto.randomUUID()}@example.com`, password: "a password for pages" };
    await register(support, "support");
    const { page, faults } = await visit(browser, service);
    await signIn(page, support);
    for (const path of ["/console/settings/webhooks", ...paths]) {
      expect((await page.goto(path))?.status()).toBe(200);
      const buttons = await page.getByRole("main").getByRole("button").allInnerTexts();
      expect([path, buttons.filter((text) => text !== "Filter")]).toEqual([path, []]);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        expect([path, colorScheme, await accessibilityFaults(page)]).toEqual([path, colorScheme, []]);
      }
      await page.setViewportSize({ width: 360, height: 740 });
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect([path, beyond, await page.title(), faults]).toEqual([path, 0, expect.stringContaining("Webhook"), []]);
    }
  }
});
