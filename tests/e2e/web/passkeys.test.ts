import { build } from "esbuild";
import { Client } from "pg";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { Passkey } from "@/lib/auth/passkeys/schema";
import { Authenticator } from "@/tests/support/auth/authenticator";
import { postgresUrl } from "@/tests/support/database";
import { examplesOf } from "@/tests/support/guide";
import { anyDatabase } from "@/tests/support/process/service";
import { hasChromium } from "@/tests/support/web/chromium";
import { accessibilityFaults, newVisitor, newVisitorOn, serviceInChromium, signInOn } from "@/tests/support/web/pages";
import { addVirtualAuthenticator } from "@/tests/support/web/virtual-authenticator";

/** The header of a request that a browser sends from the service's own page. */
const OWN_PAGE = { "sec-fetch-site": "same-origin" };

describe.runIf(hasChromium)("with Chromium's virtual authenticator", () => {
  const web = serviceInChromium(async () => {
    settings = { ...(await anyDatabase()) };
    return settings;
  });
  let settings: Record<string, string>;

  /** A new person who has added a passkey. The authenticator belongs to the page. */
  async function withPasskey() {
    const { page, faults } = await web.visit();
    const authenticator = await addVirtualAuthenticator(page);
    const person = await newVisitor(page);
    await page.goto("/account/passkeys/add");
    await page.getByLabel("Name").fill("My laptop");
    await page.getByRole("button", { name: "Create passkey" }).click();
    await page.getByText("The passkey was added.").waitFor();
    return { page, faults, authenticator, person };
  }

  /** Holds a page's requests to a URL back. Returns what lets them through. */
  async function holdRequests(page: Page, url: string): Promise<() => void> {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(url, async (route) => {
      await released;
      await route.continue();
    });
    return release;
  }

  test("a passkey is added, renamed, signs in by the button, and is removed", async () => {
    const { page, faults, person } = await withPasskey();
    const passkeys = page.getByRole("region", { name: "Passkeys" });
    expect(await passkeys.innerText()).toContain("My laptop");
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole("link", { name: "Rename My laptop" }).click();
    await page.getByLabel("Name").fill("Old laptop");
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByText("The passkey was renamed.").waitFor();

    // The email field would sign in before the button is pressed.
    await page.addInitScript("PublicKeyCredential.isConditionalMediationAvailable = async () => false");
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByText("You have been signed out.").waitFor();
    expect(await page.getByLabel("Email").getAttribute("autocomplete")).toBe("username webauthn");
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.waitForURL("/account");
    expect(await page.getByRole("region", { name: "Profile" }).innerText()).toContain(person.email);

    await page.getByRole("link", { name: "Remove Old laptop" }).click();
    await page.getByRole("button", { name: "Remove passkey" }).click();
    await page.getByText("The passkey was removed.").waitFor();
    expect(await passkeys.innerText()).not.toContain("Old laptop");
    expect(faults).toEqual([]);
  });

  test("a password manager adds a passkey after a sign-in with a password, and is told of every change", async () => {
    const { page } = await web.visit();
    await addVirtualAuthenticator(page);
    const signals: [name: string, signal: Record<string, unknown>][] = [];
    await page.exposeFunction("onSignal", (name: string, signal: Record<string, unknown>) =>
      signals.push([name, signal]),
    );
    // Chromium alone has no password manager: the virtual authenticator creates the passkey in its place.
    await page.addInitScript(() => {
      const { onSignal } = globalThis as unknown as { onSignal: (name: string, signal: object) => Promise<void> };
      const create = navigator.credentials.create.bind(navigator.credentials);
      navigator.credentials.create = async (options?: CredentialCreationOptions & { mediation?: string }) => {
        if (options?.mediation !== "conditional") throw new Error("It would ask");
        return create({ ...options, mediation: undefined } as CredentialCreationOptions);
      };
      Object.assign(PublicKeyCredential, {
        getClientCapabilities: async () => ({ conditionalCreate: true }),
        signalAllAcceptedCredentials: (signal: object) => onSignal("accepted", signal),
        signalCurrentUserDetails: (signal: object) => onSignal("details", signal),
      });
    });
    const added = page.waitForResponse(
      (response) => new URL(response.url()).pathname === "/api/auth/passkeys" && response.request().method() === "POST",
    );
    const { email } = await newVisitorOn(page);
    const { credentialId } = (await (await added).json()) as Passkey;
    await page.reload();
    const told = (name: string) =>
      signals
        .filter(([given]) => given === name)
        .map(([, signal]) => signal)
        .at(-1);
    await expect
      .poll(() => told("accepted"))
      .toMatchObject({ rpId: "localhost", allAcceptedCredentialIds: [credentialId] });
    expect(told("details")).toMatchObject({ rpId: "localhost", userId: told("accepted")?.userId, name: email });
    await page.getByRole("link", { name: /^Remove / }).click();
    await page.getByRole("button", { name: "Remove passkey" }).click();
    await page.getByText("The passkey was removed.").waitFor();
    await expect.poll(() => told("accepted")).toMatchObject({ allAcceptedCredentialIds: [] });
  });

  test("the email field offers a passkey, which signs in without a password; while the service checks it, the button does nothing", async () => {
    const { page, person } = await withPasskey();
    await page.context().clearCookies();
    const sent: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/api/auth/passkeys/")) sent.push(new URL(request.url()).pathname);
    });
    const check = await holdRequests(page, "**/api/auth/passkeys/sign-in");
    await page.goto("/sign-in");
    await expect.poll(() => sent).toHaveLength(2);
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.evaluate(async () => void (await fetch("/api/version"))); // after what the button would send
    check();
    await page.waitForURL("/account");
    expect(sent).toEqual(["/api/auth/passkeys/sign-in/options", "/api/auth/passkeys/sign-in"]);
    expect(await page.getByRole("region", { name: "Profile" }).innerText()).toContain(person.email);
  });

  test("the email field offers a passkey; one that was removed from the account is refused, and forgotten by the browser", async () => {
    const { page } = await withPasskey();
    const { passkeys } = (await (await page.request.get("/api/auth/passkeys")).json()) as { passkeys: Passkey[] };
    const removed = await page.request.delete(`/api/auth/passkeys/${passkeys[0]?.id}`, { data: {}, headers: OWN_PAGE });
    expect(removed.status()).toBe(204);
    await page.context().clearCookies();
    await page.goto("/sign-in");
    await page.getByText("The passkey is not known to this account.").waitFor();
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.getByText("No passkey was used.").waitFor();
  });

  /** Adds an authenticator app to the account that is signed in. */
  async function addApp({ request }: Page): Promise<void> {
    const started = await request.post("/api/auth/factors/totp", { data: {}, headers: OWN_PAGE });
    const { id, secret } = (await started.json()) as { id: string; secret: string };
    const data = { id, code: new Authenticator(secret).code() };
    const confirmed = await request.post("/api/auth/factors/totp/confirm", { data, headers: OWN_PAGE });
    expect(confirmed.ok()).toBe(true);
  }

  test("after the password, a passkey is the second factor of an account with an authenticator app", async () => {
    const { page, authenticator, person } = await withPasskey();
    await addApp(page);
    await authenticator.respond(false);
    await page.context().clearCookies();
    await signInOn(page, person);
    await page.waitForURL(/\/sign-in\/factor/);
    expect(await accessibilityFaults(page)).toEqual([]);
    await authenticator.respond(true);
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.waitForURL("/account");
  });

  test.runIf(postgresUrl)("after a while, a passkey confirms who removes it", async () => {
    const { page } = await withPasskey();
    const database = new Client({ connectionString: settings.DATABASE_URL });
    await database.connect();
    await database.query(`UPDATE "Session" SET "authenticatedAt" = now() - interval '1 hour'`);
    await database.end();
    await page.getByRole("link", { name: "Remove My laptop" }).click();
    await page.getByRole("heading", { name: "Confirm that it’s you" }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.getByRole("button", { name: "Remove passkey" }).click();
    await page.getByText("The passkey was removed.").waitFor();
  });

  test("the guide's example adds a passkey, and signs in with it", async () => {
    const { page } = await web.visit();
    await addVirtualAuthenticator(page);
    await newVisitor(page);
    await page.goto("/account/passkeys/add"); // which does not ask the browser by itself
    const contents = examplesOf("sign-in").get("passkeys.ts") ?? "";
    const stdin = { contents, loader: "ts", resolveDir: "." } as const;
    const options = { stdin, bundle: true, format: "iife", globalName: "example", write: false } as const;
    const { outputFiles } = await build(options);
    const run = (call: string) => page.evaluate(`${outputFiles[0]?.text}\nexample.${call}`);
    await run('addPasskey("From the guide")');
    await page.context().clearCookies();
    await run("signInWithPasskey()");
    await page.goto("/account");
    expect(await page.getByRole("region", { name: "Passkeys" }).innerText()).toContain("From the guide");
  });

  test("a passkey is created only once the page's scripts run, and only one on a device", async () => {
    const { page } = await web.visit();
    await addVirtualAuthenticator(page);
    await newVisitor(page);
    const release = await holdRequests(page, "**/*.js*");
    await page.goto("/account/passkeys/add", { waitUntil: "commit" });
    const create = page.getByRole("button", { name: "Create passkey" });
    await create.waitFor();
    expect(await create.isDisabled()).toBe(true);
    release();
    await create.click();
    await page.getByText("The passkey was added.").waitFor();
    await page.getByRole("link", { name: "Add a passkey" }).click();
    await create.click();
    await page.getByText("Your account has a passkey on this device already.").waitFor();
  });
});
