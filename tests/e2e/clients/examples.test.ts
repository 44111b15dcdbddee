import { randomUUID } from "node:crypto";
import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "@/dev/free-port";
import { startNextExample } from "@/tests/support/clients/web-app";
import { runModules } from "@/tests/support/guide";
import { anyDatabase, type Service, startService } from "@/tests/support/process/service";
import { billingEvent, deliverTo } from "@/tests/support/subscriptions/billing";
import { ELECTRON, newElectronApp } from "@/tests/support/web/app-frameworks";
import { hasChromium, launchChromium } from "@/tests/support/web/chromium";
import { visit } from "@/tests/support/web/pages";

const UPDATER = "export const autoUpdater = { checkForUpdatesAndNotify: async () => null };";
const CLIENTS = JSON.stringify([{ id: "desktop", name: "Acme", redirectUris: ["http://127.0.0.1/callback"] }]);

describe.runIf(hasChromium)("in Chromium", () => {
  let browser: Browser;
  let service: Service;
  let port: number;
  let url: string;

  beforeAll(async () => {
    port = await freePort();
    const origin = `http://localhost:${port}`;
    const origins = { AUTH_TRUSTED_ORIGINS: origin, CORS_ALLOWED_ORIGINS: origin };
    const variables = { ...origins, OAUTH_CLIENTS: CLIENTS, ...(await anyDatabase()) };
    [browser, service] = await Promise.all([launchChromium(), startService(variables)]);
    url = `http://localhost:${new URL(service.url).port}`;
  });
  afterAll(async () => {
    await browser?.close();
    await service?.end("SIGKILL");
  });

  test("examples/next signs in on the service's page, and shows a purchase as it arrives", async () => {
    const web = await startNextExample(url, port);
    onTestFinished(web.close);
    const { page } = await visit(browser, service);
    const person = await registerOn(page);
    await page.context().clearCookies();

    await page.goto(web.origin);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByLabel("Email").fill(person.email);
    await page.getByLabel("Password").fill(person.password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByText(person.email).waitFor();
    const checkout = await page.getByRole("link", { name: "Buy Acme Pro" }).getAttribute("href");
    const accountId = new URL(checkout ?? "").searchParams.get("client_reference_id");
    await deliverTo(service, billingEvent("INITIAL_PURCHASE", { app_user_id: accountId }));
    await page.getByText("You have Acme Pro.").waitFor();
    await page.getByRole("button", { name: "Notify me" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
  });

  test("examples/electron signs in through the browser, and keeps the feature open while the service is away", async () => {
    const { page } = await visit(browser, service);
    const { id, email } = await registerOn(page);
    await deliverTo(service, billingEvent("INITIAL_PURCHASE", { app_user_id: id }));
    const app = await newElectronApp(async (url) => {
      await page.goto(url);
      await page.getByRole("button", { name: "Continue as" }).click({ noWaitAfter: true });
    });

    const main = await mainProcess(url);
    await runModules({ "main.mjs": main }, { ...ELECTRON, "electron-updater": UPDATER });
    expect(await app.invoke("account")).toEqual({ email: null, hasPro: false });
    expect(await app.invoke("sign-in")).toEqual({ email, hasPro: true });
    await service.end("SIGKILL"); // so this test is the last one
    expect(await app.invoke("account")).toEqual({ email: null, hasPro: true });
    expect(await app.invoke("sign-out")).toEqual({ email: null, hasPro: false });
  });
});

/** Registers somebody, who is signed in in the page's browser. */
async function registerOn(page: Page): Promise<{ id: string; email: string; password: string }> {
  const person = { email: `${randomUUID()}@example.com`, password: "a good long password" };
  const headers = { "sec-fetch-site": "same-origin" };
  const registered = await page.request.post("/api/auth/register", { data: person, headers });
  return { ...person, id: (await registered.json()).user.id };
}

/** The example's main process for a service, bundled as its package.json says, as a module. */
async function mainProcess(server: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: ["examples/electron/src/main.ts"],
    alias: { "@homeport/client": "./clients/js/src" },
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    external: ["electron", "electron-updater"],
    define: { "process.env.HOMEPORT_URL": JSON.stringify(server) },
  });
  return outputFiles[0]?.text ?? "";
}
