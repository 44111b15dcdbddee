import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { mailbox } from "@/tests/support/mailbox";
import { runCommand } from "@/tests/support/process/command";
import { bearer } from "@/tests/support/process/service";
import { newToken } from "@/tests/support/push/push";
import { billingEvent, deliverTo } from "@/tests/support/subscriptions/billing";
import { hasChromium } from "@/tests/support/web/chromium";
import { newVisitor, newVisitorOn, registerOn, serviceInChromium, submitSignIn } from "@/tests/support/web/pages";
import { addVirtualAuthenticator } from "@/tests/support/web/virtual-authenticator";

const NEW_PASSWORD = "another password for pages";

describe.runIf(hasChromium)("in Chromium", () => {
  const web = serviceInChromium(async () => ({ SMTP_URL: await mailbox.start() }));

  /** Signs in elsewhere, as a native app does. Returns the token. */
  async function signInElsewhere(person: { email: string; password: string }, deviceName: string): Promise<string> {
    const response = await web.service.post("/api/auth/login", { ...person, deviceName });
    return ((await response.json()) as { token: string }).token;
  }

  const statusWith = async (token: string) =>
    (await web.service.fetch("/api/subscription/status", { headers: bearer(token) })).status;

  test("a new user registers, signs out, signs in again in spite of a callbackUrl of another host, subscribes and removes a device", async () => {
    const { page, faults } = await web.visit();
    const person = await registerOn(page, "Ann Example");
    expect(await page.getByRole("region", { name: "Profile" }).innerText()).toContain("Ann Example");
    const subscription = page.getByRole("region", { name: "Subscription" });
    expect(await subscription.innerText()).toContain("You have no subscription.");
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByText("You have been signed out.").waitFor();

    await page.goto("/sign-in?callbackUrl=https://evil.example/account");
    await submitSignIn(page, { ...person, password: "not the password" });
    await page.getByText("The email or password is incorrect").waitFor();
    expect(await page.getByLabel("Email").inputValue()).toBe(person.email);
    await page.getByLabel("Password").fill(person.password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL("/account");

    const registered = await page.request.post("/api/push/register", {
      data: { token: newToken(), device: { name: "Ann's iPhone", model: "iPhone17,1", osVersion: "20.1" } },
      headers: { "sec-fetch-site": "same-origin" },
    });
    expect(registered.status()).toBe(202);
    const { user } = (await (await page.request.get("/api/auth/session")).json()) as { user: { id: string } };
    const event = billingEvent("INITIAL_PURCHASE", { app_user_id: user.id });
    expect((await deliverTo(web.service, event)).status).toBe(200);
    await page.reload();
    expect(await subscription.innerText()).toMatch(/Active\. Renews on \d+ \w+ \d{4}\./);
    expect(await subscription.getByRole("link", { name: "Manage" }).getAttribute("href")).toMatch(
      /^https:\/\/apps\.apple/,
    );
    await page.getByRole("button", { name: "Remove Ann's iPhone" }).click();
    await page.getByText("The device was removed.").waitFor();
    expect(await page.getByText("Ann's iPhone").count()).toBe(0);
    expect(faults).toEqual([]);
  });

  // ASVS 14.2.2, 14.3.1, 14.3.2
  test("the back button shows nothing of the account after signing out, and signing in returns to the page that required it", async () => {
    const { page } = await web.visit();
    const person = await newVisitorOn(page);
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByText("You have been signed out.").waitFor();
    await page.goBack();
    await page.getByText("Sign in to continue.").waitFor();
    expect(await page.content()).not.toContain(person.email);
    await page.goto("/account/delete");
    await page.getByText("Sign in to continue.").waitFor();
    await submitSignIn(page, person);
    await page.waitForURL("/account/delete");
  });

  test("a form of a signed-out session does nothing and redirects to the sign-in page; then one session, or all other sessions, can be signed out", async () => {
    const { page } = await web.visit();
    const person = await newVisitor(page);
    const tokens: string[] = [];
    for (const name of ["MacBook", "Studio", "Laptop"]) tokens.push(await signInElsewhere(person, name));
    const statuses = () => Promise.all(tokens.map(statusWith));
    await page.goto("/account");
    await page.request.post("/forms/sign-out", { form: {}, headers: { "sec-fetch-site": "same-origin" } });
    await page.getByRole("button", { name: "Sign out MacBook" }).click();
    await page.getByText("Sign in to continue.").waitFor();
    expect(await statuses()).toEqual([200, 200, 200]);

    await submitSignIn(page, person);
    await page.getByRole("button", { name: "Sign out MacBook" }).click();
    await page.getByText("The session was signed out.").waitFor();
    expect(await statuses()).toEqual([401, 200, 200]);
    await page.getByRole("button", { name: "Sign out all other sessions" }).click();
    await page.getByText("You have been signed out of all other sessions.").waitFor();
    expect(await statuses()).toEqual([401, 401, 401]);
    expect(await page.getByRole("region", { name: "Recent activity" }).innerText()).toContain("Signed out");
  });

  test("an account is exported as one file, and deleted only with its password and the word DELETE; the page mentions store subscriptions", async () => {
    const { page, faults } = await web.visit();
    const { email, password } = await newVisitorOn(page);
    await page.getByRole("link", { name: "Export data" }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("main").getByRole("link", { name: "Download" }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^account-export-\d{4}-\d\d-\d\d\.json$/);
    const data = JSON.parse(await readFile(await download.path(), "utf8"));
    expect(data).toMatchObject({ schema: "account-export", account: { email } });

    await page.goBack();
    await page.getByRole("link", { name: "Delete account" }).click();
    await page.getByLabel("Password").fill("not the password");
    await page.getByLabel("Type DELETE to confirm").fill("DELETE");
    await page.getByRole("button", { name: "Delete account" }).click();
    await page.getByText("This is not your password").waitFor();
    expect(await page.evaluate(() => document.activeElement?.getAttribute("name"))).toBe("password");
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Delete account" }).click();
    await page.waitForURL("/deleted");
    expect(await page.getByRole("main").innerText()).toContain("Store subscriptions continue");
    expect(faults).toEqual([]);
  });

  test("notifications are chosen again and again, and each choice is shown", async () => {
    const { page, faults } = await web.visit();
    await newVisitorOn(page);
    const section = page.getByRole("region", { name: "Notifications" });
    for (const [kind, label] of [
      ["billing.payment_failed", "A payment has failed"],
      ["billing.expired", "A subscription has ended"],
      ["custom", "Other messages from us"],
    ] as const) {
      const box = section.getByLabel(label);
      const isWanted = !(await box.isChecked());
      await box.setChecked(isWanted);
      await Promise.all([page.waitForEvent("load"), section.getByRole("button", { name: "Save" }).click()]);
      await page.getByText("Your choice of notifications was saved.").waitFor();
      expect(await box.isChecked()).toBe(isWanted);
      const { kinds } = (await (await page.request.get("/api/push/preferences")).json()) as { kinds: object };
      expect(kinds).toMatchObject({ [kind]: isWanted });
    }
    expect(faults).toEqual([]);
  });

  const linkIn = (mail: string): string => /http\S+\/reset#token=\S+/.exec(mail)?.[0] ?? "";

  test("the emailed link resets the password once and signs out old sessions", async () => {
    const { page: old } = await web.visit();
    const person = await newVisitor(old);

    const { page, faults } = await web.visit();
    await page.goto("/forgot");
    await page.getByLabel("Email").fill(person.email);
    await page.getByRole("button", { name: "Send reset link" }).click();
    await page.getByText("we have sent a reset link").waitFor();
    const link = linkIn(await mailbox.waitFor(person.email));

    await page.goto(link);
    await page.getByLabel("New password").fill(NEW_PASSWORD);
    await page.waitForURL("/reset");
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("Your password was changed").waitFor();
    await submitSignIn(page, { ...person, password: NEW_PASSWORD });
    await page.waitForURL("/account");
    expect(faults).toEqual([]);

    await old.goto("/account");
    await old.getByText("Sign in to continue.").waitFor();
    await old.goto(link);
    await old.getByLabel("New password").fill(NEW_PASSWORD);
    await old.getByRole("button", { name: "Change password" }).click();
    await old.getByText("This link is no longer valid. Request a new one.").waitFor();
  });

  /** Invites a new person by a command. Returns the link in the email. */
  async function invite(): Promise<{ email: string; link: string }> {
    const email = `invited-${crypto.randomUUID()}@example.com`;
    const env = { DATA_DIR: web.service.dataDir };
    const { code, output } = await runCommand("homeport", ["accounts", "create", email, "--invite"], env);
    expect([code, output]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36}\n/)]);
    return { email, link: /http\S+\/invitation#token=\S+/.exec(await mailbox.waitFor(email))?.[0] ?? "" };
  }

  test("an invitation is accepted with a passkey, or with a password without JavaScript", async () => {
    const [ann, bob] = [await invite(), await invite()];
    const { page, faults } = await web.visit();
    await addVirtualAuthenticator(page);
    await page.addInitScript("PublicKeyCredential.isConditionalMediationAvailable = async () => false");
    await page.goto(ann.link);
    await page.waitForURL("/invitation");
    await page.getByRole("button", { name: "Create a passkey" }).click();
    await page.getByText("Your account is set up.").waitFor();
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.waitForURL("/account");
    expect(await page.getByRole("region", { name: "Profile" }).innerText()).toContain(ann.email);
    await page.goto(ann.link);
    await page.getByRole("button", { name: "Create a passkey" }).click();
    await page.getByText("The token is invalid or has expired.").waitFor();
    expect(faults).toEqual([]);

    const { page: plain } = await web.visit({ javaScriptEnabled: false });
    await plain.goto(bob.link);
    await plain.getByLabel("Link from the email").fill(bob.link);
    await plain.getByLabel("Password").fill(NEW_PASSWORD);
    await plain.getByRole("button", { name: "Set password" }).click();
    await plain.getByText("Your account is set up.").waitFor();
    await submitSignIn(plain, { ...bob, password: NEW_PASSWORD });
    await plain.waitForURL("/account");
  });

  test("a link with a broken token asks the user to paste the link", async () => {
    const { page } = await web.visit();
    for (const path of ["/reset", "/verify"]) {
      await page.goto(`${path}#token=${"x".repeat(300)}`);
      await page.waitForURL(path);
      await page.getByLabel(path === "/reset" ? "New password" : "Password").fill(NEW_PASSWORD);
      await page.getByRole("main").getByRole("button").first().click();
      await page.getByText("Must be at most 256 characters long").waitFor();
      expect(await page.evaluate(() => document.activeElement?.getAttribute("name"))).toBe("token");
      await page.getByLabel("Link from the email").fill(`https://home.example${path}#token=used`);
      await page.getByRole("main").getByRole("button").first().click();
      await page.getByText("This link is no longer valid.").waitFor();
    }
  });
});
