import type { CDPSession, Page } from "playwright-core";

/** The app's service worker, and the messages of a push service to it. The headless shell has no notifications. */
export async function startWorker(page: Page, script = "/push-worker.js") {
  const { origin } = new URL(page.url());
  const cdp: CDPSession = await page.context().newCDPSession(page);
  const registrationIds: string[] = [];
  cdp.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
    const own = registrations.filter(({ scopeURL }) => scopeURL.startsWith(origin));
    registrationIds.push(...own.map(({ registrationId }) => registrationId));
  });
  await cdp.send("ServiceWorker.enable");
  await page.evaluate(async (file) => {
    await navigator.serviceWorker.register(file);
    await navigator.serviceWorker.ready;
  }, script);
  return {
    canShow: await page.evaluate(() => Notification.permission === "granted"),
    push: async (data: string) => {
      const registrationId = registrationIds.at(-1) ?? "";
      await cdp.send("ServiceWorker.deliverPushMessage", { origin, registrationId, data });
    },
    notifications: () =>
      page.evaluate(async () => {
        const shown = await (await navigator.serviceWorker.ready).getNotifications();
        return shown.map(({ title, tag }) => ({ title, tag }));
      }),
  };
}

/** Lets a page or a worker subscribe, as no test can: a browser's vendor runs its push service. */
export async function subscribeTo(
  place: Pick<Page, "evaluate">,
  subscription: object,
  { isKeyOld = false } = {},
): Promise<void> {
  await place.evaluate(
    ([json, hasOldKey]) => {
      const calls: string[] = [];
      const withKey = (key: ArrayBuffer) => ({
        options: { applicationServerKey: key },
        toJSON: () => json,
        unsubscribe: async () => {
          calls.push("unsubscribe");
          current = null;
        },
      });
      const bytesOf = (text: string) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer;
      let current = hasOldKey ? withKey(new Uint8Array(65).buffer) : null;
      Object.assign(PushManager.prototype, {
        getSubscription: async () => current,
        subscribe: async ({ applicationServerKey: key }: { applicationServerKey: string }) => {
          calls.push("subscribe");
          current = withKey(bytesOf(key.replaceAll("-", "+").replaceAll("_", "/")));
          return current;
        },
      });
      Notification.requestPermission = async () => "granted";
      Object.defineProperty(Notification, "permission", { get: () => "granted" });
      Object.assign(globalThis, { calls });
    },
    [subscription, isKeyOld] as const,
  );
}
