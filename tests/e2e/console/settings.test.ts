import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FirstOperator, newFirstOperator } from "@/tests/support/console/first-operator";
import { listen } from "@/tests/support/network/listen";
import { startReceiver, verifyWebhook } from "@/tests/support/network/webhook-receiver";
import { bearer, operatorKeyOf, registerAt } from "@/tests/support/process/service";
import { hasChromium } from "@/tests/support/web/chromium";
import { layoutFaults, type Person, serviceInChromium, signIn } from "@/tests/support/web/pages";

const PAGES = [
  "/console",
  "/console/settings",
  "/console/settings/operators",
  "/console/settings/keys",
  "/console/settings/publishers",
  "/console/settings/publishers?type=oidc",
  "/console/settings/webhooks",
  "/console/settings/audit",
  "/console/settings/audit?account=1",
  "/console/settings/guides/sign-in",
];
/** What UPDATE_CHECK_URL serves. */
const NEWS = {
  latest: { version: "99.0.0", url: "changelog.html#9900" },
  advisories: [
    {
      id: "GHSA-1234-5678-9abc",
      title: "An operator with the role <b>support</b> can change releases",
      severity: "high",
      affected: "<99",
      url: "https://example.com/GHSA-1234-5678-9abc",
    },
  ],
};
const MARKUP = `<img src=x onerror="document.title='run'">`;

describe.runIf(hasChromium)("the console in Chromium", () => {
  const news = createServer((_, response) => void response.end(JSON.stringify(NEWS)));
  const web = serviceInChromium(async () => ({
    UPDATE_CHECK: "on",
    UPDATE_CHECK_URL: `http://${await listen(news)}/releases.json`,
  }));
  let admin: FirstOperator;

  afterAll(() => void news.close());
  beforeAll(async () => {
    admin = await newFirstOperator(web.browser, web.service);
  });

  const openAsAdmin = (options = {}) => web.visit({ storageState: admin.storageState, ...options });

  const grant = async ({ id }: { id: string }, role: string) =>
    web.service.post(`/api/admin/accounts/${id}/grant`, { role }, bearer(await operatorKeyOf(web.service)));

  const expectAccessible = async (page: Page) => expect(await layoutFaults(page, [1280, 360])).toEqual([]);

  test("its pages are accessible in light and dark mode, fit a narrow screen and log no errors", async () => {
    const { page, faults } = await openAsAdmin();
    for (const path of PAGES) {
      expect((await page.goto(path))?.status()).toBe(200);
      await expectAccessible(page);
      expect([path, await page.title(), faults]).toEqual([path, expect.stringMatching(/ – (Console|Guides)$/), []]);
    }
  });

  test("the overview shows a newer version and an advisory, with links to them", async () => {
    const { page } = await openAsAdmin();
    const link = (name: string) => page.getByRole("listitem").filter({ has: page.getByRole("link", { name }) });
    await expect
      .poll(async () => {
        await page.goto("/console");
        return link("Version").innerText();
      })
      .toMatch(/Outdated\s+99\.0\.0 is available/);
    expect(await link("Advisory").innerText()).toMatch(
      /High\s.* is affected by GHSA-1234-5678-9abc: .*<b>support<\/b>/s,
    );
    expect(await page.getByRole("link", { name: "Version" }).getAttribute("href")).toMatch(/\/changelog\.html#9900$/);
    await expectAccessible(page);
  });

  /** Opens a page as a stranger, signs in, and arrives there. */
  async function signInFor(page: Page, path: string): Promise<void> {
    await page.goto(path);
    await page.getByLabel("Email").fill(admin.email);
    await page.getByLabel("Password").fill(admin.password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(path);
  }

  test("without JavaScript on a phone, an admin signs in, creates a key, sees it once and revokes it", async () => {
    const viewport = { width: 360, height: 740 };
    const { page } = await web.visit({ javaScriptEnabled: false, viewport });
    await signInFor(page, "/console");
    await page.getByText("has no second factor. Add an authenticator app or a passkey.").waitFor();
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("link", { name: "API keys" }).click();
    await page.getByLabel("Name").fill("Release pipeline");
    await page.getByLabel("releases:write").check();
    await page.getByRole("button", { name: "Create key" }).click();
    const shown = page.getByRole("region", { name: "The new key" });
    const key = await shown.locator("code").innerText();
    const status = async () =>
      (await web.service.fetch("/api/admin/releases", { headers: { authorization: `Bearer ${key}` } })).status;
    expect(await status()).toBe(200);
    await shown.getByRole("button", { name: "I have saved it" }).click();
    await page.waitForURL("/console/settings/keys");
    expect(await page.content()).not.toContain(key);
    await page.getByRole("button", { name: "Revoke Release pipeline" }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.innerText()).toContain("releases:write");
    await dialog.getByRole("button", { name: "Revoke the key" }).click();
    await page.getByText("The key was revoked.").waitFor();
    expect(await status()).toBe(401);
  });

  test("an admin adds a publisher, gets the workflow to paste, and removes it", async () => {
    const { page, faults } = await openAsAdmin({ viewport: { width: 360, height: 740 } });
    await page.goto("/console/settings/publishers");
    await page.getByLabel("Repository").fill("acme/app");
    await page.getByLabel("Workflow").fill("release.yml");
    await page.getByLabel("Ref").fill("v*");
    await page.getByLabel("Product").fill("core");
    await page.getByRole("button", { name: "Add publisher" }).click();
    await page.getByText("Must begin with refs/heads/ or refs/tags/").waitFor();
    await page.getByLabel("Ref").fill("refs/tags/v*");
    await page.getByRole("button", { name: "Add publisher" }).click();
    await page.waitForURL(/\/publishers\/[\w-]+\?done=added$/);
    const file = page.getByRole("region", { name: ".github/workflows/release.yml" });
    const { port } = new URL(web.service.url);
    expect(await file.locator("pre").innerText()).toContain(`env: { HOMEPORT_URL: "http://localhost:${port}" }`);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Remove acme/app" }).click();
    await page.getByRole("button", { name: "Remove the publisher" }).click();
    await page.getByText("The publisher was removed.").waitFor();
    expect(await page.getByText("There are no publishers yet").count()).toBe(1);
    expect(faults).toEqual([]);
  });

  test("a customer finds no page until an admin makes them support, who cannot do what only admins may", async () => {
    const person = await registerAt(web.service);
    const { page: customer } = await web.visit();
    await signIn(customer, person);
    for (const path of PAGES) {
      const response = await customer.request.get(path);
      const headings = (await response.text()).match(/<h[1-6][^>]*>.*?<\/h[1-6]>/g);
      expect([path, response.status(), headings]).toEqual([path, 404, [expect.stringContaining(">Not found<")]]);
    }
    const { page } = await openAsAdmin();
    await page.goto("/console/settings/operators");
    await page.getByLabel("Email").fill(person.email);
    await page.getByRole("button", { name: "Give the role" }).click();
    await page.getByText("The role was changed.").waitFor();
    await customer.goto("/console/settings/operators");
    expect(await customer.getByRole("row").filter({ hasText: person.email }).innerText()).toContain("Support");
    expect(await customer.getByRole("button", { name: /Change role|Give the role/ }).count()).toBe(0);
    expect(await customer.getByRole("link", { name: "Operators" }).count()).toBeGreaterThan(0);
    expect(await customer.getByRole("link", { name: "Audit trail" }).count()).toBe(0);
    for (const path of ["keys", "audit"]) {
      expect((await customer.request.get(`/console/settings/${path}`)).status()).toBe(404);
    }
    await page.goto("/console/settings/audit");
    await page.getByLabel("Event", { exact: true }).selectOption("Role changed");
    await page.getByRole("button", { name: "Filter" }).click();
    const change = page.getByRole("row").filter({ hasText: person.email });
    expect(await change.textContent()).toContain("user → support");
    expect(await change.textContent()).toContain(admin.email);
  });

  test("an admin filters the audit trail, goes through its pages, and downloads what the filters show", async () => {
    const operator = bearer(await operatorKeyOf(web.service));
    for (const name of ["First", MARKUP]) {
      const created = await web.service.post("/api/admin/keys", { name, scopes: ["audit:read"] }, operator);
      expect(created.status).toBe(201);
    }
    const { page, faults } = await openAsAdmin();
    await page.goto("/console/settings/audit?limit=1&type=key_created");
    const row = page.getByRole("row").filter({ hasText: "API key created" });
    expect((await row.boundingBox())?.height).toBeLessThan(50); // one line
    await row.getByText("entries").click();
    expect(await row.innerText()).toContain(`Name: ${MARKUP}`);
    const isCut = (frame: Element) => frame.scrollWidth > frame.clientWidth;
    expect([page.viewportSize()?.width, await page.locator(".table-frame").evaluate(isCut)]).toEqual([1280, false]);
    expect([await page.title(), faults]).toEqual(["Audit trail – Console", []]);
    await page.getByRole("link", { name: "Next page" }).click();
    await row.getByText("entries").click();
    await row.getByText("Name: First").waitFor();
    await page.getByRole("link", { name: "Previous page" }).click();
    await row.getByText("entries").click();
    expect(await row.innerText()).toContain(`Name: ${MARKUP}`);
    expect(await page.getByRole("link", { name: "First page" }).count()).toBe(0);
    const downloading = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download as CSV" }).click();
    const [, ...lines] = (await readFile(await (await downloading).path(), "utf8")).trim().split("\r\n");
    expect(lines.length).toBeGreaterThanOrEqual(2);
    for (const line of lines) expect(line).toContain('"key_created"');
    await row.getByRole("link", { name: /^operator/ }).click();
    await page.waitForURL(/\?actor=operator/);
    await page.goto("/console/settings/audit?from=0000-01-01&account=1");
    await page.getByText("This link has filters that the page does not accept").waitFor();
    await page.getByText("Must be in the years 1 to 9999", { exact: true }).waitFor();
    await page.getByText("No account has this email or ID").waitFor();
  });

  test("without JavaScript, an admin creates a webhook endpoint, and replays what failed while its receiver was down", async () => {
    const support = await registerAt(web.service);
    await grant(support, "support");
    const receiver = await startReceiver();
    const { page } = await openAsAdmin({ javaScriptEnabled: false });
    const dialog = page.getByRole("dialog");
    const shows = (text: RegExp) =>
      expect.poll(() => page.reload().then(() => page.getByRole("main").innerText())).toMatch(text);
    await page.goto("/console/settings/webhooks");
    await page.getByLabel("URL").fill(receiver.url);
    await page.getByLabel("account.created").check();
    await page.getByLabel("Description").fill(MARKUP);
    await page.getByRole("button", { name: "Create endpoint" }).click();
    const secret = await page.getByRole("region", { name: "The secret" }).locator("code").innerText();
    await page.getByRole("button", { name: "I have saved it" }).click();
    expect(await page.content()).not.toContain(secret);
    const endpoint = new URL(page.url()).pathname;

    await page.getByRole("button", { name: "Send a test" }).click();
    await dialog.getByRole("button", { name: "Send the test" }).click();
    await expect.poll(() => receiver.received).toHaveLength(1);
    await shows(/^webhook\.test delivered/m);
    expect(receiver.received.map((one) => verifyWebhook(secret, one).type)).toEqual(["webhook.test"]);

    receiver.respond = (response) => response.destroy(); // it is down
    const { id: accountId } = await registerAt(web.service);
    await expect.poll(() => receiver.received.length).toBeGreaterThan(1);
    await page.goto(endpoint);
    await shows(/^account\.created\s[^–]*\spending\s+\d\s[^–]*\ssocket hang up\s/m);
    await page.goto("/console");
    await page.getByText("1 of 1 endpoints fails").waitFor();
    await page.goto(endpoint);
    receiver.received.length = 0;
    receiver.respond = (response) => response.end(MARKUP);
    await page.getByRole("button", { name: /^Retry account\.created/ }).click();
    await dialog.getByRole("button", { name: "Deliver it now" }).click();
    await page.getByText("The delivery is queued again.").waitFor();
    await expect.poll(() => receiver.received).not.toHaveLength(0);
    await page.getByRole("link", { name: "account.created", exact: true }).click();
    await shows(/^account\.created delivered/m);
    expect(await page.getByRole("region", { name: "Payload" }).innerText()).toContain(accountId);
    expect(await page.getByRole("region", { name: "Response" }).innerText()).toContain(MARKUP);
    await expectReadOnly(support, ["/console/settings/webhooks", endpoint, new URL(page.url()).pathname]);

    await page.goto(endpoint);
    await page.getByRole("button", { name: "Delete" }).click();
    expect(await dialog.innerText()).toContain("The log of 2 deliveries is deleted");
    await dialog.getByRole("button", { name: "Delete the endpoint" }).click();
    await page.getByText("The endpoint was deleted").waitFor();
    expect((await page.request.get(endpoint)).status()).toBe(404);
  });

  /** Support sees the pages, and nothing to change on them. They are accessible, and run no markup. */
  async function expectReadOnly(support: Person, paths: string[]): Promise<void> {
    const { page, faults } = await web.visit();
    await signIn(page, support);
    for (const path of paths) {
      expect((await page.goto(path))?.status()).toBe(200);
      const buttons = await page.getByRole("main").getByRole("button").allInnerTexts();
      expect([path, buttons.filter((text) => text !== "Filter")]).toEqual([path, []]);
      await expectAccessible(page);
      expect([path, await page.title(), faults]).toEqual([path, expect.stringContaining("Webhook"), []]);
    }
  }
});
