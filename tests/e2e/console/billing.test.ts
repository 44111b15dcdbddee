import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FirstOperator, newFirstOperator } from "@/tests/support/console/first-operator";
import { anyDatabase, preparedDataDir } from "@/tests/support/process/service";
import { withStoppedDatabase } from "@/tests/support/process/stopped-database";
import { anonymous, billingEvent, deliverTo } from "@/tests/support/subscriptions/billing";
import { startRevenueCat } from "@/tests/support/subscriptions/revenuecat";
import { hasChromium } from "@/tests/support/web/chromium";
import { layoutFaults, serviceInChromium } from "@/tests/support/web/pages";

const MARKUP = `<img src=x onerror="document.title='run'">`;
const DAY_MS = 24 * 60 * 60 * 1000;

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
  const web = serviceInChromium(async () => {
    provider = await startRevenueCat();
    return { ...provider.config, BILLING_PAYLOAD_RETENTION_DAYS: "1", ...(await databaseWithFailure()) };
  });
  let admin: FirstOperator;
  let provider: Awaited<ReturnType<typeof startRevenueCat>>;

  beforeAll(async () => {
    admin = await newFirstOperator(web.browser, web.service);
    const purchase = { app_user_id: customer, original_transaction_id: bought.original_transaction_id };
    const canceled = billingEvent("CANCELLATION", { ...purchase, cancel_reason: "UNSUBSCRIBE", product_id: MARKUP });
    for (const event of [canceled, billingEvent(MARKUP)]) {
      expect((await deliverTo(web.service, event)).status).toBe(200);
    }
  });

  afterAll(async () => {
    provider.close();
  });

  const check = async (page: Page) => expect(await layoutFaults(page)).toEqual([]);

  test("an admin replays a failed event, sees how the purchase came about, and assigns it", async () => {
    const { page, faults } = await web.visit({ storageState: admin.storageState });
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
});
