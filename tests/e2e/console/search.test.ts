import { randomUUID } from "node:crypto";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { type FirstOperator, newFirstOperator } from "@/tests/support/console/first-operator";
import { bearer, registerAt } from "@/tests/support/process/service";
import { billingEvent, deliverTo } from "@/tests/support/subscriptions/billing";
import { hasChromium } from "@/tests/support/web/chromium";
import { layoutFaults, serviceInChromium } from "@/tests/support/web/pages";

const MARKUP = `<img src=x onerror="document.title='run'">\u202E`;
const ORDER = "GPA.3345-1234-5678-90123";

describe.runIf(hasChromium)("the search of the console", () => {
  const web = serviceInChromium();
  let admin: FirstOperator;
  let customerId: string;

  const field = (page: Page) => page.getByRole("searchbox", { name: "Find anything" });

  async function find(page: Page, text: string): Promise<string> {
    await field(page).fill(text);
    await field(page).press("Enter");
    await page.waitForURL((url) => url.searchParams.has("query") || !url.pathname.endsWith("/search"));
    return new URL(page.url()).pathname;
  }

  beforeAll(async () => {
    admin = await newFirstOperator(web.browser, web.service);
    const named = { name: `Ann ${MARKUP}` };
    customerId = (await registerAt(web.service, { email: "searched1@example.com", ...named })).id;
    await registerAt(web.service, { email: `searched2-${"x".repeat(50)}@${"y".repeat(60)}.example.com`, ...named });
    const transactions = { original_transaction_id: ORDER, transaction_id: ORDER, store: "PLAY_STORE" };
    for (const environment of ["PRODUCTION", "SANDBOX"]) {
      const bought = billingEvent("INITIAL_PURCHASE", { ...transactions, app_user_id: customerId, environment });
      expect((await deliverTo(web.service, bought)).status).toBe(200);
    }
  });

  test("is reached by / on every page, and leads to a page or lists what was found", async () => {
    const { page, faults } = await web.visit({ storageState: admin.storageState });
    await page.goto("/console/settings");
    await expect
      .poll(() => page.keyboard.press("/").then(() => field(page).evaluate((one) => one.matches(":focus"))))
      .toBe(true);
    await page.keyboard.type("a/b");
    expect(await field(page).inputValue()).toBe("a/b");
    expect(await find(page, "searched1@example.com")).toBe(`/console/accounts/${customerId}`);
    expect(await find(page, `Order: ${ORDER}`)).toBe("/console/search");
    expect(await field(page).inputValue()).toBe(`Order: ${ORDER}`);
    expect(await page.getByRole("region", { name: "Purchases" }).getByRole("link").count()).toBe(2);
    expect(await find(page, "Ann")).toBe("/console/search");
    expect(await page.getByText(MARKUP).count()).toBe(2);
    expect(await page.title()).toBe("Search – Console");
    expect(await layoutFaults(page, [360, 768, 1280])).toEqual([]);
    await page.getByRole("link", { name: "All accounts found" }).click();
    await page.getByRole("heading", { name: "Found accounts" }).waitFor();
    await find(page, `\u202E%_${"x".repeat(1000)}`);
    await page.getByText("Nothing was found").waitFor();
    expect(await layoutFaults(page, [360, 768, 1280])).toEqual([]);
    expect(faults).toEqual([]);
  });

  test("takes a whole API key out of the URL, which would revoke it", async () => {
    const { page } = await web.visit({ storageState: admin.storageState });
    const created = await web.service.post(
      "/api/admin/keys",
      { name: "CI", scopes: ["mail:read"] },
      bearer(admin.token),
    );
    const { key, prefix } = (await created.json()) as { key: string; prefix: string };
    await page.goto("/console");
    await field(page).fill(key);
    await expect.poll(() => field(page).inputValue()).toBe(prefix);
    await field(page).press("Enter");
    await page.waitForURL(`/console/settings/keys?prefix=${prefix}`);
    expect(await page.locator("tbody th").allInnerTexts()).toEqual(["CI"]);
    const listed = await fetch(`${web.service.url}/api/admin/mail/messages`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(listed.status).toBe(200);
  });

  test("works without JavaScript, and is for operators alone", async () => {
    const { page } = await web.visit({ storageState: admin.storageState, javaScriptEnabled: false });
    await page.goto("/console/releases");
    await field(page).fill(customerId.toUpperCase());
    await page.getByRole("button", { name: "Find" }).click();
    await page.waitForURL(`/console/accounts/${customerId}`);
    await page.goto(`/console/search?query=${randomUUID()}`);
    await page.getByText("Nothing was found").waitFor();
    const stranger = await web.visit();
    await stranger.page.goto("/console/search?query=ann");
    expect(new URL(stranger.page.url()).pathname).toBe("/sign-in");
  });
});
