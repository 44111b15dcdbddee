import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser, Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type FirstOperator, newFirstOperator } from "@/tests/support/console/first-operator";
import { anyDatabase, bearer, registerAt, type Service, startService } from "@/tests/support/process/service";
import { type Apns, startApns } from "@/tests/support/push/apns";
import { newPhone, type Phone, signedByDeviceKey } from "@/tests/support/push/phone";
import { hasChromium, launchChromium } from "@/tests/support/web/chromium";
import { layoutFaults, signIn, visit } from "@/tests/support/web/pages";

const POLL = { timeout: 60_000, interval: 50 };
/** The title of the notification about a sign-in. */
const SIGN_IN = "security.new_sign_in.body";

/** Writes a catalog in which no version is published, and returns its file. */
async function emptyCatalog(): Promise<string> {
  const file = path.join(await mkdtemp(path.join(tmpdir(), "homeport-catalog-")), "catalog.json");
  await writeFile(file, JSON.stringify({ schemaVersion: 1, releases: [] }));
  return file;
}

type Posted = { device: { id: string }; challenge: { id: string; value: string } };

describe.runIf(hasChromium)("in Chromium", () => {
  let service: Service;
  let browser: Browser;
  let apns: Apns;
  let closeApns: () => Promise<void>;
  let admin: FirstOperator;
  let phone: Phone;

  beforeAll(async () => {
    apns = await startApns((close) => {
      closeApns = close;
    });
    [service, browser] = await Promise.all([
      startService({
        RATE_LIMITS: "off",
        RELEASE_CATALOG: await emptyCatalog(),
        ...apns.env,
        SMTP_URL: "smtp://127.0.0.1:9",
        ...(await anyDatabase()),
      }),
      launchChromium(),
    ]);
    admin = await newFirstOperator(browser, service);
    phone = await addDevice(admin, admin.token);
  });

  afterAll(async () => {
    await browser.close();
    expect(await service.end("SIGTERM")).toBe(0);
    await closeApns();
  });

  const post = async (to: string, body: object, token: string): Promise<Posted> =>
    (await (await service.post(to, body, bearer(token))).json()) as Posted;

  async function adminWithDevice() {
    const { id, email, password } = await registerAt(service);
    await post(`/api/admin/accounts/${id}/grant`, { role: "admin" }, admin.token);
    const login = await service.post("/api/auth/login", { email, password });
    const { token } = (await login.json()) as { token: string };
    return { person: { email, password }, phone: await addDevice({ id }, token) };
  }

  /** A simulator of somebody, which receives notifications. */
  async function addDevice(user: { id: string }, session: string): Promise<Phone> {
    const phone = newPhone({ environment: "sandbox" });
    const wanted = { token: phone.token, installationId: phone.installationId, environment: phone.environment };
    const { device, challenge } = await post("/api/push/register", wanted, session);
    const pushNonce = await vi.waitFor(() => nonceOf(challenge.id) ?? expect.fail("APNs received no nonce"), POLL);
    const asked = { deviceId: device.id, challengeId: challenge.id, challengeValue: challenge.value };
    const evidence = signedByDeviceKey(user, phone, { ...asked, pushNonce });
    await post("/api/push/register", { ...wanted, device: { name: "Test phone" }, evidence }, session);
    return phone;
  }

  const nonceOf = (challengeId: string) =>
    apns.received
      .map(({ payload }) => payload.data as { challengeId?: string; nonce?: string })
      .find((data) => data.challengeId === challengeId)?.nonce;
  const titlesOf = (token: string) =>
    apns.received.flatMap((push) => {
      const { alert } = push.payload.aps as { alert?: { title?: string; "loc-key"?: string } };
      return push.token === token && alert ? [alert.title ?? alert["loc-key"]] : [];
    });

  test("an operator tests a notification on a device, sends it, announces a version and sees the outcomes", async () => {
    const { page, faults } = await visit(browser, service, { storageState: admin.storageState });
    const wrong: string[] = [];

    await page.goto("/console/push/deliveries?account=nobody@example.com");
    await page.getByText("No account has this email or ID.").waitFor();
    await page.goto("/console/push/announce?version=x");
    await page.getByText("Must be a version such as 2.1.0").waitFor();
    expect(await page.getByRole("textbox", { name: "Version", exact: true }).inputValue()).toBe("x");
    wrong.push(...(await layoutFaults(page)));
    await page.goto("/console/push/send?account=nobody@example.com&title=Hello&body=Hello");
    await page.getByText("No account has this email or ID.").waitFor();
    await page.goto("/console/accounts");
    await page.getByRole("table").getByRole("link", { name: admin.email }).click();
    wrong.push(...(await layoutFaults(page)));
    await page.getByRole("link", { name: "Send a notification" }).click();
    await page.getByRole("region", { name: "Recipients" }).getByText("Test phone").waitFor();
    expect(await page.getByRole("button", { name: /^Send/ }).count()).toBe(0);
    await page.getByRole("textbox", { name: "Title" }).fill("<b>Hello</b>");
    await page.getByRole("textbox", { name: "Text" }).fill("Does it arrive?");
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByRole("region", { name: "Preview" }).getByText("<b>Hello</b>", { exact: true }).first().waitFor();
    await page.getByRole("figure").getByText("com.example.homeport", { exact: true }).waitFor();
    wrong.push(...(await layoutFaults(page)));
    const rightOf = (one: Locator) => one.evaluate((element) => element.getBoundingClientRect().right);
    const [button, panel] = [
      page.getByRole("button", { name: "Send a test" }),
      page.getByRole("region", { name: "Preview" }),
    ];
    expect(await rightOf(button)).toBeLessThan(await rightOf(panel));
    await button.click();
    await page.getByRole("button", { name: "Send the test" }).click();
    await page.getByText("The test is queued.").waitFor();
    await expect.poll(() => titlesOf(phone.token)).toContain("<b>Hello</b>");
    await page.getByRole("button", { name: "Send to 1 device" }).click();
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByText("The message is queued.").waitFor();
    await expect.poll(() => titlesOf(phone.token).filter((title) => title === "<b>Hello</b>")).toHaveLength(2);

    await page.getByRole("link", { name: "Push" }).first().click();
    await page.getByRole("link", { name: "Send to many" }).click();
    await page.waitForURL("/console/push/audience");
    await page.getByRole("textbox", { name: "Title", exact: true }).fill("To some");
    await page.getByRole("textbox", { name: "Text", exact: true }).fill("Does it arrive?");
    await page.getByRole("textbox", { name: "Language" }).fill("xx");
    await page.getByRole("textbox", { name: "Not seen since" }).fill("2020-01-02");
    await page.getByRole("button", { name: "Preview and estimate" }).click();
    const preview = page.getByRole("region", { name: "Preview" });
    await preview.getByText("language xx, not seen since 2020-01-02").waitFor();
    await preview.getByText("0 devices", { exact: true }).waitFor();
    expect(await page.getByRole("button", { name: "Send to" }).count()).toBe(0);
    await page.getByRole("textbox", { name: "Language" }).fill("");
    await page.getByRole("textbox", { name: "Not seen since" }).fill("");
    await page.getByRole("button", { name: "Preview and estimate" }).click();
    await preview.getByText("1 device", { exact: true }).waitFor();
    wrong.push(...(await layoutFaults(page)));
    await page.getByRole("button", { name: "Send to 1 device" }).click();
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByText("The message is queued.").waitFor();
    await expect.poll(() => titlesOf(phone.token)).toContain("To some");

    await page.goto("/console/push/announce");
    await page.getByRole("textbox", { name: "Version", exact: true }).fill("9.1.0");
    await page.getByRole("button", { name: "Estimate" }).click();
    await page.getByRole("region", { name: "Estimate" }).getByText("1 device", { exact: true }).waitFor();
    const warning = /^9\.1\.0 is not published: .* Announcing it notifies 1 device\./;
    await page.getByRole("alert").filter({ hasText: warning }).waitFor();
    wrong.push(...(await layoutFaults(page)));
    await page.getByRole("button", { name: "Announce 9.1.0" }).click();
    await page.getByRole("dialog").getByText(warning).waitFor();
    await page.getByRole("button", { name: "Announce", exact: true }).click();
    await page.getByText("The version is being announced.").waitFor();
    await expect.poll(() => titlesOf(phone.token)).toContain("app.new_version.body");
    await expect
      .poll(async () => {
        await page.reload();
        return page.getByRole("region", { name: "Outcomes" }).getByRole("link", { name: "1", exact: true }).count();
      })
      .toBe(1);
    wrong.push(...(await layoutFaults(page)));

    await page.goto("/console/push");
    await page.getByRole("link", { name: "Version 9.1.0" }).waitFor();
    wrong.push(...(await layoutFaults(page)));
    await page.getByRole("link", { name: "Deliveries" }).click();
    await page.getByRole("combobox", { name: "State" }).selectOption("sent");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL(/state=sent/);
    await page.getByRole("table").getByRole("link", { name: "Version 9.1.0" }).waitFor();
    await page.getByRole("table").getByRole("link", { name: "To some" }).waitFor();
    await page.getByRole("table").getByRole("link", { name: "push.challenge" }).waitFor();
    wrong.push(...(await layoutFaults(page)));

    await page.getByRole("link", { name: "Mail queue" }).click();
    await page.waitForURL("/console/push/mail");
    wrong.push(...(await layoutFaults(page)));
    // A hint about when a style sheet was used.
    const logged = faults.filter((fault) => !fault.includes("preloaded using link preload"));
    expect({ logged, wrong }).toEqual({ logged: [], wrong: [] });
  });

  test("an operator sees how much waits to be sent: for the end of a pause, and for a mail server that is down", async () => {
    const { page } = await visit(browser, service);
    const { person, phone } = await adminWithDevice();
    apns.replyWith(phone.token, { status: 403, reason: "InvalidProviderToken" });
    await signIn(page, person);
    const authorization = `Bearer ${admin.token}`;
    const pauses = async () => (await service.fetch("/api/admin/push/pauses", { headers: { authorization } })).json();
    await expect.poll(pauses).toMatchObject({ pauses: [{ environment: "sandbox" }] });
    const waiting = page.getByText("1 notification that waited is sent at once.");
    await expect
      .poll(async () => {
        await page.goto("/console/push");
        return waiting.count();
      })
      .toBe(1);
    await page.getByRole("button", { name: "End the pause of sandbox" }).click();
    await waiting.waitFor();
    await page.getByRole("button", { name: "End the pause", exact: true }).click();
    await page.getByText("The pause has ended.").waitFor();
    await expect.poll(() => titlesOf(phone.token)).toEqual([SIGN_IN, SIGN_IN]); // refused, then accepted

    await page.goto("/console/push/mail");
    await page.getByRole("button", { name: "Send all now" }).click();
    await page
      .getByText(/^(1 email that waits|\d+ emails that wait) for another attempt (is|are) sent at once\./)
      .waitFor();
  });
});
