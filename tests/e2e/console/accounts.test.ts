import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { type FirstOperator, newFirstOperator } from "@/tests/support/console/first-operator";
import { bearer, registerAt } from "@/tests/support/process/service";
import { newToken } from "@/tests/support/push/push";
import { billingEvent, deliverTo } from "@/tests/support/subscriptions/billing";
import { hasChromium } from "@/tests/support/web/chromium";
import { layoutFaults, type Person, serviceInChromium, signIn } from "@/tests/support/web/pages";

const MARKUP = `<img src=x onerror="document.title='run'">`;

type Customer = Person & { id: string; token: string };

describe.runIf(hasChromium)("an admin in Chromium", () => {
  const web = serviceInChromium();
  let page: Page;
  let faults: string[];
  let customer: Customer;
  let admin: FirstOperator;

  const register = (email: string, name: string): Promise<Customer> =>
    registerAt(web.service, { email, name, deviceName: MARKUP }, { "user-agent": MARKUP });

  /** A browser in which somebody has signed in: `page` until the end of the test. */
  async function openAs(person: Person): Promise<void> {
    ({ page, faults } = await web.visit());
    await signIn(page, person);
  }

  async function openAsAdmin(): Promise<void> {
    ({ page, faults } = await web.visit({ storageState: admin.storageState }));
  }

  const check = async () => expect(await layoutFaults(page, [360, 768, 1280])).toEqual([]);

  /** Opens the dialog of an action, says why, and sends it. Returns what the dialog said. */
  async function act(button: string, submit: string, also: () => Promise<unknown> = async () => {}): Promise<string> {
    await page.getByRole("button", { name: button, exact: true }).first().click();
    const dialog = page.locator(".dialog:popover-open");
    const text = await dialog.innerText();
    await dialog.getByLabel("Reason").fill("Asked for by telephone");
    await also();
    await dialog.getByRole("button", { name: submit }).click();
    return text;
  }

  beforeAll(async () => {
    admin = await newFirstOperator(web.browser, web.service);
    customer = await register("customer@example.com", `Ann ${MARKUP}`);
    const device = { name: MARKUP, model: MARKUP, osVersion: "20.1" };
    const pushed = { token: newToken(), device };
    expect((await web.service.post("/api/push/register", pushed, bearer(customer.token))).status).toBe(202);
    const purchase = { app_user_id: customer.id, product_id: "com.example.pro", original_transaction_id: "1000" };
    expect((await deliverTo(web.service, billingEvent("INITIAL_PURCHASE", purchase))).status).toBe(200);
    expect((await deliverTo(web.service, billingEvent("CANCELLATION", purchase))).status).toBe(200);
    await register("customer2@example.com", "Bob Example");
  });

  test("adds a customer, who gets an invitation", async () => {
    await openAsAdmin();
    await page.goto("/console/accounts");
    await page.getByRole("link", { name: "Add a customer" }).click();
    await page.waitForURL("/console/accounts/new");
    await check();
    await page.getByLabel("Email", { exact: true }).fill("added@example.com");
    await page.getByRole("button", { name: "Add the customer" }).click();
    await page.getByText("The account is created. Its owner gets an email").waitFor();
    expect(await page.getByRole("region", { name: "Sign-in" }).innerText()).toContain("expires in 7 days");
    await act("Invite again", "Send the invitation");
    await page.getByText("The owner gets an email with a link").first().waitFor();
    expect(faults).toEqual([]);
  });

  test("finds a customer while typing, sees everything about them, acts on the account, and deletes it", async () => {
    await openAsAdmin();
    await page.goto("/console/accounts?query=nobody");
    await check();
    await page.goto("/console/accounts");
    await check();
    const matches = page.getByRole("list", { name: "Matches" });
    await page.getByLabel("Search").pressSequentially("custom");
    await matches.getByRole("link", { name: /^customer2@example.com/ }).waitFor();
    await page.getByLabel("Search").press("Enter");
    await page.waitForURL(/[?&]query=custom/);
    await page.getByRole("heading", { name: "Found accounts" }).waitFor();
    expect(await page.locator("tbody th").allInnerTexts()).toEqual(["customer2@example.com", "customer@example.com"]);
    await page.getByLabel("Search").fill("customer@");
    await matches.getByRole("link").click();
    await page.getByRole("heading", { name: "customer@example.com" }).waitFor();
    await check();

    for (const text of ["INITIAL_PURCHASE", "CANCELLATION", "com.example.pro", "Account created"]) {
      expect(await page.getByText(text).count(), text).toBeGreaterThan(0);
    }
    expect(await page.getByText(MARKUP).count()).toBeGreaterThanOrEqual(3);
    expect(await page.title()).not.toBe("run");
    expect(await page.locator("main img").count()).toBe(0);

    expect(await act("End all sessions", "End 1 session")).toContain("Ends 1 session and removes 1 device");
    await page.getByText("Every session has ended.").waitFor();
    expect(await page.getByText("Asked for by telephone").count()).toBeGreaterThan(0);
    expect(await act("Disable", "Disable the account")).toContain("Ends 0 sessions.");
    await page.getByText("nobody can sign in to it").waitFor();
    expect((await web.service.post("/api/auth/login", customer)).status).toBe(403);
    await act("Enable", "Enable the account");
    await page.getByText("Its owner can sign in again.").waitFor();
    await act("Change role", "Change the role", () => page.getByLabel("Role", { exact: true }).selectOption("support"));
    await page.getByText("The account has the role.").waitFor();
    const download = page.waitForEvent("download");
    await act("Export", "Download the export");
    expect((await download).suggestedFilename()).toMatch(/^account-export-.*\.json$/);
    expect(await act("Delete", "Delete the account")).toContain("the personal data out of 1 purchase");
    await page.getByText("The account and all its data are deleted.").waitFor();
    expect((await page.request.get(`/console/accounts/${customer.id}`)).status()).toBe(404);
    expect(faults).toEqual([]);
  });

  test("says why a customer has access or not, and shows support no link that only an admin can use", async () => {
    const other = await register("customer4@example.com", `Why ${MARKUP}`);
    const unmapped = { app_user_id: other.id, entitlement_ids: null, product_id: `com.example.${MARKUP}` };
    expect((await deliverTo(web.service, billingEvent("INITIAL_PURCHASE", unmapped))).status).toBe(200);
    const unnamed = { app_user_id: other.id, transaction_id: null, original_transaction_id: null };
    expect((await deliverTo(web.service, billingEvent("RENEWAL", unnamed))).status).toBe(200);
    await openAsAdmin();
    await page.goto(`/console/accounts/${other.id}`);
    const access = () => page.getByRole("region", { name: "Access" });
    await access().getByText("customer4@example.com has an active subscription, and no entitlement.").waitFor();
    await access().getByLabel("Entitlement").fill("pro");
    await access().getByLabel("Entitlement").press("Enter");
    await access().getByText("customer4@example.com does not have “pro”.").waitFor();
    expect(await access().getByLabel("Entitlement").inputValue()).toBe("pro");
    await check();
    await access().getByRole("link", { name: "See what the event lacks" }).click();
    await page.getByRole("heading", { name: "RENEWAL" }).waitFor();

    const support = await register("why@operators.example", "Sam");
    const grant = `/api/admin/accounts/${support.id}/grant`;
    expect((await web.service.post(grant, { role: "support" }, bearer(admin.token))).status).toBe(200);
    await openAs(support);
    await page.goto(`/console/accounts/${other.id}?entitlement=pro`);
    await access().getByText("does not have “pro”.").waitFor();
    expect(await access().getByRole("link").allInnerTexts()).toEqual([
      "Clear",
      "See what the event lacks, and what to do.",
    ]);
    await access().getByText("An admin can do more.").waitFor();
    await page.goto(`/console/accounts/${other.id}?entitlement=${"x".repeat(256)}`);
    await access().getByText("at most 255").waitFor();
    await check();
    expect(faults).toEqual([]);
  });

  test("lets support end sessions and grant entitlements and nothing else, and shows nothing to customers and strangers", async () => {
    const other = await register("customer3@example.com", "Eve");
    const support = await register("support@operators.example", "Sue");
    const grant = `/api/admin/accounts/${support.id}/grant`;
    expect((await web.service.post(grant, { role: "support" }, bearer(admin.token))).status).toBe(200);
    await openAs(support);
    await page.goto(`/console/accounts/${other.id}`);
    for (const name of ["End all sessions", "Grant an entitlement"])
      expect(await page.getByRole("button", { name }).count(), name).toBe(1);
    for (const name of ["Disable", "Change role", "Export", "Delete"]) {
      expect(await page.getByRole("button", { name, exact: true }).count(), name).toBe(0);
    }
    const paths = ["/console/accounts", `/console/accounts/${other.id}`];
    await openAs(other);
    for (const path of paths) {
      expect((await page.request.get(path)).status()).toBe(404);
      const stranger = await web.service.fetch(path, { redirect: "manual" });
      expect([stranger.status, stranger.headers.get("location")]).toEqual([307, expect.stringContaining("/sign-in?")]);
    }
  });
});
