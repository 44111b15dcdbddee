import { randomUUID } from "node:crypto";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type * as Kit from "@/clients/js/src/index";
import { startWorker, subscribeTo } from "@/tests/support/clients/push-worker";
import { startWebApp } from "@/tests/support/clients/web-app";
import { anyDatabase, type Service, startService } from "@/tests/support/process/service";
import { PUSH_SERVICE_SETTINGS, startBrowser } from "@/tests/support/push/browser";
import { hasChromium, launchChromium } from "@/tests/support/web/chromium";
import { dataDirWithReleases } from "@/tests/support/web/pages";

const PASSWORD = "a good long password";

/** What the app's page has: the kit and its client. */
type App = { kit: typeof Kit; client: Kit.Client };
declare const app: App;
declare const kit: typeof Kit;

describe.runIf(hasChromium)("@homeport/client in a web app on another origin", () => {
  let browser: Browser;
  let service: Service;
  let web: Awaited<ReturnType<typeof startWebApp>>;
  let url: string;

  beforeAll(async () => {
    web = await startWebApp();
    const dataDir = await dataDirWithReleases(() => {});
    const variables = {
      AUTH_TRUSTED_ORIGINS: web.origin,
      CORS_ALLOWED_ORIGINS: web.origin,
      WEBHOOK_ALLOWED_NETWORKS: "127.0.0.1/32",
      ...PUSH_SERVICE_SETTINGS,
      DATA_DIR: dataDir,
      ...(await anyDatabase()),
    };
    [browser, service] = await Promise.all([launchChromium(), startService(variables)]);
    url = `http://localhost:${new URL(service.url).port}`;
  });
  afterAll(async () => {
    await browser?.close();
    await service?.end("SIGKILL");
    web?.close();
  });

  /** The app in a browser of its own, signed out. */
  async function openApp(): Promise<Page> {
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    await context.grantPermissions(["notifications"], { origin: web.origin });
    const page = await context.newPage();
    await page.goto(web.origin);
    await page.evaluate((to) => {
      const client = kit.createClient({ url: to, session: "cookie" });
      Object.assign(window, { app: { kit, client } });
    }, url);
    return page;
  }

  /** Registers somebody new, signed in by a cookie of the service's origin. */
  const registerOn = (page: Page): Promise<Kit.User | null> =>
    page.evaluate((credentials) => kit.register(app.client, credentials), {
      email: `${randomUUID()}@example.com`,
      password: PASSWORD,
    });

  test("signs in by a cookie, reads the status and the updates, and signs out", async () => {
    const page = await openApp();
    expect(await page.evaluate(() => kit.currentUser(app.client))).toBeNull();
    const user = await registerOn(page);
    expect(await page.evaluate(() => kit.currentUser(app.client))).toMatchObject({ email: user?.email });
    expect(await page.evaluate(() => kit.getSubscriptionStatus(app.client, { isFresh: true }))).toMatchObject({
      status: "none",
    });
    const preferences = await page.evaluate(async () => {
      const { kinds, quietHours } = await kit.request(app.client, "GET", "/api/push/preferences");
      const body = { kinds: { ...kinds, "billing.renewed": false }, quietHours };
      return kit.request(app.client, "PUT", "/api/push/preferences", { body });
    });
    expect(preferences.kinds["billing.renewed"]).toBe(false);
    const update = await page.evaluate(() =>
      kit.checkForUpdate(app.client, { product: "core", platform: "windows", architecture: "x64", version: "1.0.0" }),
    );
    expect(update).toMatchObject({ kind: "release", updateAvailable: true });
    await page.evaluate(() => kit.signOut(app.client));
    const code = await page.evaluate(() => kit.getSubscriptionStatus(app.client).catch(({ code }) => code));
    expect(code).toBe("unauthenticated");
  });

  test("a page of an origin that is not listed reads nothing", async () => {
    const page = await openApp();
    await page.goto(web.origin.replace("localhost", "127.0.0.1"));
    const code = await page.evaluate(
      (to) => kit.currentUser(kit.createClient({ url: to, session: "cookie", maxRetries: 0 })).catch((e) => e.code),
      url,
    );
    expect(code).toBe("network_error");
  });

  const devicesOf = (page: Page) =>
    page.evaluate(async () => (await kit.request(app.client, "GET", "/api/push/devices")).devices);

  test("subscribes again after a change of the service's key, and is off after it was turned off", async () => {
    const page = await openApp();
    const { subscription } = await startBrowser();
    await registerOn(page);
    await startWorker(page);
    await subscribeTo(page, subscription, { isKeyOld: true });
    const calls = () => page.evaluate(() => (window as unknown as { calls: string[] }).calls);
    await page.evaluate(async () => {
      const serviceWorker = await navigator.serviceWorker.ready;
      await kit.registerForWebPush(app.client, { serviceWorker });
    });
    expect(await calls()).toEqual(["unsubscribe", "subscribe"]);
    expect(await devicesOf(page)).toHaveLength(1);
    const after = await page.evaluate(async () => {
      const serviceWorker = await navigator.serviceWorker.ready;
      await kit.unregisterFromWebPush(app.client, { serviceWorker });
      return kit.refreshWebPush(app.client, { serviceWorker });
    });
    expect(after).toBeNull();
    expect(await calls()).toEqual(["unsubscribe", "subscribe", "unsubscribe"]);
    expect(await devicesOf(page)).toEqual([]);
  });

  test("has the same device after the browser has replaced the subscription, by its worker", async () => {
    const page = await openApp();
    const [first, second] = [await startBrowser(), await startBrowser()];
    await registerOn(page);
    await startWorker(page, `/worker.js?service=${url}`);
    await subscribeTo(page, first.subscription);
    await page.evaluate(async () => {
      await kit.registerForWebPush(app.client, { serviceWorker: await navigator.serviceWorker.ready });
    });
    const [worker] = page.context().serviceWorkers();
    if (!worker) throw new Error("The app has no service worker");
    await subscribeTo(worker, second.subscription);
    await worker.evaluate(() => {
      const waits: Promise<unknown>[] = [];
      const waitUntil = (done: Promise<unknown>) => waits.push(done);
      dispatchEvent(Object.assign(new Event("pushsubscriptionchange"), { waitUntil }));
      return Promise.all(waits);
    });
    const tokenSuffix = second.subscription.endpoint.slice(-4);
    expect(await devicesOf(page)).toMatchObject([{ tokenSuffix, status: "active" }]);
  });

  test("has no push where the user refuses it, and where the browser has none", async () => {
    const page = await openApp();
    await registerOn(page);
    await startWorker(page);
    const refused = page.evaluate(async () => {
      Notification.requestPermission = async () => "denied";
      return kit.registerForWebPush(app.client, { serviceWorker: await navigator.serviceWorker.ready });
    });
    expect(await refused).toBeNull();
    // The tests' Chromium has no push service.
    const unavailable = page.evaluate(async () => {
      Notification.requestPermission = async () => "granted";
      const serviceWorker = await navigator.serviceWorker.ready;
      return kit.registerForWebPush(app.client, { serviceWorker }).catch(({ code }) => code);
    });
    expect(await unavailable).toBe("push_unavailable");
  });
});
