import { createHash, randomBytes } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import type * as Kit from "@/clients/js/src/index";
import {
  checkForUpdate,
  createClient,
  currentUser,
  getSubscriptionStatus,
  isEntitledTo,
  memoryStore,
  openOfflineEntitlements,
  request,
  signInWithPassword,
} from "@/clients/js/src/index";
import { signInWithBrowser } from "@/clients/js/src/node";
import { startWorker, subscribeTo } from "@/tests/support/clients/push-worker";
import { startWebApp } from "@/tests/support/clients/web-app";
import { dataDirWithVersions, updateFrom } from "@/tests/support/electron/differential";
import { bearer, operatorKeyOf, type Service, startForTest } from "@/tests/support/process/service";
import { startApns } from "@/tests/support/push/apns";
import { PUSH_SERVICE_SETTINGS, startBrowser } from "@/tests/support/push/browser";
import { newPhone, signedByDeviceKey } from "@/tests/support/push/phone";
import { BUNDLE_ID, newToken } from "@/tests/support/push/push";
import { deliverTo } from "@/tests/support/subscriptions/billing";
import { bought, startRevenueCat, subscriber } from "@/tests/support/subscriptions/revenuecat";
import { hasChromium, launchChromium } from "@/tests/support/web/chromium";

const MIB = 1024 * 1024;
const PRODUCT = { product: "core", platform: "windows", architecture: "x64", version: "1.0.0" } as const;
const WEBHOOK_DELAY_MS = 120_000;
const PASSWORD = "a good long password";
const CLIENTS = [{ id: "desktop", name: "Acme Desktop", redirectUris: ["http://127.0.0.1/callback"] }];

/** What the web app's page has: the package, its client, and the kinds of the pushes that it got. */
declare const app: { client: Kit.Client; kinds: string[] };
declare const kit: typeof Kit;

/** The service, and everything that it talks to. */
async function startServices() {
  const before = randomBytes(4 * MIB);
  const after = Buffer.from(before);
  for (let at = 0; at < 2; at++) randomBytes(10_000).copy(after, at * MIB);
  const [apns, provider, web, pushService, browser] = await Promise.all([
    startApns(),
    startRevenueCat(),
    startWebApp(),
    startBrowser(),
    launchChromium(),
  ]);
  onTestFinished(async () => {
    provider.close();
    web.close();
    await browser.close();
  });
  const service = await startForTest({
    ...apns.env,
    ...provider.config,
    DATA_DIR: await dataDirWithVersions(before, after),
    OAUTH_CLIENTS: JSON.stringify(CLIENTS),
    AUTH_TRUSTED_ORIGINS: web.origin,
    CORS_ALLOWED_ORIGINS: web.origin,
    WEBHOOK_ALLOWED_NETWORKS: "127.0.0.1/32",
    ...PUSH_SERVICE_SETTINGS,
  });
  const url = `http://localhost:${new URL(service.url).port}`;
  const context = await browser.newContext();
  await context.grantPermissions(["notifications"], { origin: web.origin });
  const page = await context.newPage();
  return { service, url, apns, provider, web, pushService, page, before, after };
}

test.runIf(hasChromium)("an app needs only the client package to sign in, update, buy and get pushes", async () => {
  const { service, url, apns, provider, web, pushService, page, before, after } = await startServices();

  // A web app on another origin: Ann registers.
  await page.goto(web.origin);
  const ann = await page.evaluate(
    ([to, password]) => {
      const client = kit.createClient({ url: to, session: "cookie" });
      Object.assign(window, { app: { client, kinds: [] } });
      return kit.register(client, { name: "Ann", email: "ann@example.com", password });
    },
    [url, PASSWORD] as const,
  );
  if (!ann) throw new Error("Ann is not signed in");

  // The Electron app signs in through the browser.
  const desktop = createClient({ url, clientId: "desktop", session: memoryStore() });
  const consent = await page.context().newPage();
  await signInWithBrowser(desktop, {
    open: async (to) => {
      await consent.goto(to);
      await consent.getByRole("button", { name: "Continue as Ann" }).click({ noWaitAfter: true });
    },
  });
  await consent.getByText("You can close this window.").waitFor();
  expect(await currentUser(desktop)).toMatchObject({ email: "ann@example.com" });
  await consent.goto(`${url}/account`);
  expect(await consent.locator("main").textContent()).toContain("Acme Desktop");

  // It updates by the differences of two versions.
  expect(await checkForUpdate(desktop, PRODUCT)).toMatchObject({ version: "1.1.0", updateAvailable: true });
  const { installer, sentBytes } = await updateFrom(service, before);
  expect(sha256(installer)).toBe(sha256(after));
  expect(sentBytes / after.length).toBeLessThan(0.1);

  // Nobody has paid: offline, the feature is off.
  const offline = openOfflineEntitlements(desktop, { audience: "com.example.core", store: memoryStore() });
  await offline.refresh();
  expect(await offline.check()).toEqual([]);

  // In the web app, Ann turns push on and buys. The webhook is late; the provider knows of the purchase.
  const worker = await startWorker(page);
  await subscribeTo(page, pushService.subscription);
  await page.evaluate(async () => {
    const serviceWorker = await navigator.serviceWorker.ready;
    kit.onPush(({ kind }) => void app.kinds.push(kind));
    await kit.registerForWebPush(app.client, { serviceWorker });
  });
  const paidAt = Date.now() - WEBHOOK_DELAY_MS;
  const { event, known } = bought(ann, { event_timestamp_ms: paidAt, purchased_at_ms: paidAt });
  const askedBefore = provider.asked.length;
  provider.customers.set(ann.id, subscriber({ monthly: known }));
  const status = () => page.evaluate(() => kit.getSubscriptionStatus(app.client, { isFresh: true }));
  expect(isEntitledTo(await status(), "pro")).toBe(true);
  expect(provider.asked.slice(askedBefore)).toContain(ann.id);
  expect(isEntitledTo(await getSubscriptionStatus(desktop), "pro")).toBe(true);

  // Two minutes later the webhook arrives, and changes nothing.
  const paidStatus = await status();
  expect((await deliverTo(service, event)).status).toBe(200);
  expect((await status()).entitlements).toEqual(paidStatus.entitlements);

  // The company thanks everybody who has paid. The browser gets it, and so does the page.
  const message = {
    kind: "custom",
    title: "Thank you",
    body: "You have Pro.",
    to: { audience: { entitlement: "pro" } },
  };
  await send(service, message);
  await expect.poll(() => pushService.received).toHaveLength(1);
  await worker.push(JSON.stringify(pushService.received[0]?.payload));
  await expect.poll(() => page.evaluate(() => app.kinds)).toEqual(["custom"]);

  // An iPhone simulator is verified by the requests that HomeportKit sends, and shows the delivery of an order.
  const iphone = createClient({ url });
  await signInWithPassword(iphone, { email: "ann@example.com", password: PASSWORD, deviceName: "Ann's iPhone" });
  const phone = newPhone({ environment: "sandbox" });
  const { token, installationId, environment } = phone;
  const wanted = { token, installationId, environment };
  const first = await request(iphone, "POST", "/api/push/register", { body: wanted });
  if (!("challenge" in first)) throw new Error("the device got no challenge");
  const { device, challenge } = first;
  const pushesTo = (to: string) => apns.received.filter((push) => push.token === to);
  await expect.poll(() => pushesTo(token)).toHaveLength(1);
  const { nonce: pushNonce = "" } = (pushesTo(token)[0]?.payload.data ?? {}) as { nonce?: string };
  const asked = { deviceId: device.id, challengeId: challenge.id, challengeValue: challenge.value, pushNonce };
  const evidence = signedByDeviceKey(ann, phone, asked);
  const proven = await request(iphone, "POST", "/api/push/register", { body: { ...wanted, evidence } });
  expect(proven.device.status).toBe("active");
  const activity = newToken();
  await request(iphone, "PUT", "/api/push/devices/{deviceId}/live-activities/{activityId}", {
    params: { deviceId: device.id, activityId: "order-4711" },
    body: { attributesType: "DeliveryAttributes", token: activity },
  });
  const update = { kind: "live_activity.update", activityId: "order-4711", contentState: { step: "on the way" } };
  await send(service, { ...update, to: { account: "ann@example.com" } });
  await expect
    .poll(() => pushesTo(activity))
    .toMatchObject([
      {
        headers: { "apns-push-type": "liveactivity", "apns-topic": `${BUNDLE_ID}.push-type.liveactivity` },
        payload: { aps: { event: "update", "content-state": { step: "on the way" } } },
      },
    ]);
  expect(apns.rejected).toEqual([]);

  // The Electron app gates the feature without a connection.
  await offline.refresh();
  expect(await service.end("SIGTERM")).toBe(0);
  await expect(getSubscriptionStatus(desktop)).rejects.toMatchObject({ code: "network_error" });
  expect(await offline.check()).toEqual(["pro"]);
});

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

async function send(service: Service, message: object): Promise<void> {
  const key = await operatorKeyOf(service);
  expect((await service.post("/api/admin/push/messages", message, bearer(key))).status).toBe(201);
}
