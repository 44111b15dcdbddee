import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FirstOperator, newFirstOperator } from "@/tests/support/console/first-operator";
import { anyDatabase, preparedDataDir, type Service, startService } from "@/tests/support/process/service";
import { withStoppedDatabase } from "@/tests/support/process/stopped-database";
import { anonymous, billingEvent, deliverTo } from "@/tests/support/subscriptions/billing";
import { startRevenueCat } from "@/tests/support/subscriptions/revenuecat";
import { hasChromium, launchChromium } from "@/tests/support/web/chromium";
import { accessibilityFaults, COLOR_RULES, signIn, visit } from "@/tests/support/web/pages";

const MARKUP = `<img src=x onerror="document.title='run'">`;
const DAY_MS = 24 * 60 * 60 * 1000;
const WIDTHS = [360, 768, 1280];

const customer = anonymous();
const bought = billingEvent("INITIAL_PURCHASE", {
  app_user_id: customer,
  original_app_user_id: null,
  aliases: null,
  product_id: MARKUP,
});

/**
 * The variables of a database with an event that an older version could not apply, and which waits for an operator.
 */
async function databaseWithFailure(): Promise<Record<string, string>> {
  const variables = { DATA_DIR: await preparedDataDir(), ...(await anyDatabase()) };
  const eventId = bought.id;
  const at = new Date(Date.now() - 2 * DAY_MS);
  const stored = {
    provider: "revenuecat",
    eventId,
    type: "INITIAL_PURCHASE",
    state: "failed",
    reason: "not_understood",
  } as const;
  const data = {
    ...stored,
    appUserIds: [],
    nextAttemptAt: null,
    occurredAt: at,
    receivedAt: at,
    facts: {},
    payload: { event: bought } as object,
  };
  await withStoppedDatabase(variables, (db) => db.billingEvent.create({ data }));
  return variables;
}

describe.runIf(hasChromium)("the billing pages of the console", () => {
  let service: Service;
  let browser: Browser;
  let admin: FirstOperator;
  let provider: Awaited<ReturnType<typeof startRevenueCat>>;

  beforeAll(async () => {
    provider = await startRevenueCat();
    const settings = { ...provider.config, BILLING_PAYLOAD_RETENTION_DAYS: "1", RATE_LIMITS: "off" };
    const variables = { ...settings, ...(await databaseWithFailure()) };
    [service, browser] = await Promise.all([startService(variables), launchChromium()]);
    admin = await newFirstOperator(browser, service);
    const purchase = { app_user_id: customer, original_transaction_id: bought.original_transaction_id };
    const canceled = billingEvent("CANCELLATION", { ...purchase, cancel_reason: "UNSUBSCRIBE", product_id: MARKUP });
    for (const event of [canceled, billingEvent(MARKUP)]) {
      expect((await deliverTo(service, event)).status).toBe(200);
    }
  });

  afterAll(async () => {
    await browser.close();
    expect(await service.end("SIGTERM")).toBe(0);
    provider.close();
  });

  const send = (path: string, body: object, headers: Record<string, string> = {}) =>
    service.fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });

  /** Signs in somebody new, with a role that the admin gives them. */
  async function signInAs(page: Page, role: "support" | "user"): Promise<void> {
    const person = { email: `${role}@operators.example`, password: "a password for the console" };
    const { user } = (await (await send("/api/auth/register", person)).json()) as { user: { id: string } };
    const authorization = `Bearer ${admin.token}`;
    if (role !== "user") await send(`/api/admin/accounts/${user.id}/grant`, { role }, { authorization });
    await signIn(page, person);
  }

  /** Checks that a page fits each width, and is accessible, in the dark by its colors. */
  async function check(page: Page) {
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect([page.url(), width, overflow]).toEqual([page.url(), width, 0]);
    }
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await accessibilityFaults(page, COLOR_RULES)).toEqual([]);
    await page.emulateMedia({ colorScheme: "light" });
  }

  test("an admin replays a failed event, sees how the purchase came about, and assigns it", async () => {
    const { page, faults } = await visit(browser, service, { storageState: admin.storageState });
    await page.goto("/console/billing");
    await check(page);
    await page.getByRole("region", { name: "Failed" }).getByRole("link", { name: "INITIAL_PURCHASE" }).click();
    await page.getByRole("heading", { name: "INITIAL_PURCHASE failed" }).waitFor();
    expect(await page.getByRole("region", { name: "Payload" }).innerText()).toContain(`"id": "${bought.id}"`);
    await check(page);
    await page.getByRole("button", { name: "Replay" }).click();
    await page.getByLabel("Reason (optional)").fill("The version is newer");
    await page.getByRole("button", { name: "Replay the event" }).click();
    await page.getByText("The event was applied.").waitFor();
    await page.getByRole("heading", { name: "INITIAL_PURCHASE processed" }).waitFor();
    expect(await page.getByRole("region", { name: "What it changed" }).innerText()).toContain(MARKUP);

    await page.getByRole("region", { name: "Event" }).getByRole("link").last().click();
    await page.getByRole("heading", { name: `${MARKUP} canceled` }).waitFor();
    const steps = page.getByRole("region", { name: "Timeline" }).locator("ol > li");
    expect(await steps.locator("h3").allInnerTexts()).toEqual(["CANCELLATION canceled", "INITIAL_PURCHASE active"]);
    expect(await steps.first().locator("ul").innerText()).toContain("Cancel reason: – → UNSUBSCRIBE");
    await check(page);
    await page.getByRole("button", { name: "Assign to an account" }).click();
    await page.getByLabel("Account ID").fill(admin.id);
    await page.getByLabel("Reason").fill("The receipt was shown");
    await page.getByRole("button", { name: "Assign", exact: true }).click();
    await page.getByText("The account has the customer’s purchases.").waitFor();
    expect(await page.getByRole("region", { name: "Owner" }).innerText()).toContain(admin.id);

    await page.goto("/console/billing");
    await page.getByRole("button", { name: "Reconcile all" }).click();
    await page.getByText("The provider is asked about the customers of 1 purchase").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Prune" }).click();
    await page.getByText("1 event is that old.").waitFor();
    await page.getByRole("button", { name: "Delete the payloads" }).click();
    await page.getByText("100% done.").waitFor();

    await page.goto(`/console/billing?account=${admin.id}`);
    expect(await page.locator("tbody th").allInnerTexts()).toEqual(
      expect.arrayContaining(["SUBSCRIBER_ALIAS", "CANCELLATION", "INITIAL_PURCHASE"]),
    );
    await page.getByLabel("Account").fill("nobody@example.com");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByText("No account has this email or ID").waitFor();
    expect(await page.locator("tbody").count()).toBe(0);
    await page.getByLabel("Account").fill(admin.email);
    await page.getByLabel("Purchase").fill(String(bought.original_transaction_id));
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByRole("row", { name: "INITIAL_PURCHASE" }).getByRole("link", { name: admin.email }).click();
    const purchases = page.getByRole("region", { name: "Purchases" });
    await purchases.getByText("It gives access now.").waitFor();
    expect(await page.title()).not.toBe("run");
    expect(faults).toEqual([]);
  });

  test("support reads but cannot replay, a customer finds no page, a stranger signs in", async () => {
    const { page } = await visit(browser, service);
    const redirected = await page.request.get("/console/billing");
    expect(new URL(redirected.url()).pathname).toBe("/sign-in");
    await signInAs(page, "support");
    await page.goto("/console/billing?state=processed");
    await page.getByRole("link", { name: "CANCELLATION" }).click();
    await page.getByRole("heading", { name: "CANCELLATION processed" }).waitFor();
    expect(await page.getByRole("button", { name: "Replay" }).count()).toBe(0);
    const { page: other } = await visit(browser, service);
    await signInAs(other, "user");
    for (const path of ["", "/events/019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11"]) {
      expect((await other.request.get(`/console/billing${path}`)).status()).toBe(404);
    }
  });
});
