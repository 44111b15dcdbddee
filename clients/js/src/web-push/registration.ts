import { base64url } from "../base64.js";
import type { Client } from "../http/client.js";
import { HomeportError } from "../http/problem.js";
import { request, type Schemas } from "../http/request.js";
import type { Registration } from "./browser-types.js";
import { deleteInstallation, loadInstallation, saveInstallation } from "./installation.js";

export type PushDevice = Schemas["Device"];

export type WebPushOptions = {
  /** The registration of an active service worker that calls `handlePushes`: `await navigator.serviceWorker.ready`. */
  serviceWorker: Registration;
  /** Shown to the user in the list of devices, such as "Firefox on Linux". */
  name?: string;
};

/**
 * Turns push on for the signed-in user, and asks for the permission: call it directly in the handler of a click. Resolves to
 * null if the user refuses.
 * @throws HomeportError such as `unauthenticated`, `device_limit_reached`, and `push_unavailable` if the browser has no push,
 *   as Safari on iOS outside an app on the Home Screen
 */
export async function registerForWebPush(client: Client, options: WebPushOptions): Promise<PushDevice | null> {
  if (!hasPush(options)) throw unavailable();
  if ((await Notification.requestPermission()) !== "granted") return null;
  return register(client, options);
}

/**
 * Registers again if push is on, and asks the user nothing: call it at each start of the app, signed in. Resolves to null if
 * push is off. @throws HomeportError as `registerForWebPush`
 */
export async function refreshWebPush(client: Client, options: WebPushOptions): Promise<PushDevice | null> {
  const isOn = hasPush(options) && Notification.permission === "granted" && (await loadInstallation(client.url));
  return isOn ? register(client, options) : null;
}

/** Turns push off in this browser, also without a connection. Call it before `signOut`. */
export async function unregisterFromWebPush(
  client: Client,
  { serviceWorker }: Pick<WebPushOptions, "serviceWorker">,
): Promise<void> {
  const subscription = await serviceWorker.pushManager?.getSubscription();
  const { deviceId } = (await loadInstallation(client.url)) ?? {};
  await subscription?.unsubscribe();
  await deleteInstallation(client.url);
  // Without it, the service removes the device when the push service refuses the next message.
  const path = "/api/push/devices/{deviceId}";
  if (deviceId) await request(client, "DELETE", path, { params: { deviceId } }).catch(() => {});
}

async function register(client: Client, { serviceWorker, name }: WebPushOptions): Promise<PushDevice> {
  const { publicKey } = await request(client, "GET", "/api/push/vapid-public-key");
  const subscription = await subscribe(serviceWorker.pushManager, publicKey);
  const { installationId = crypto.randomUUID() } = (await loadInstallation(client.url)) ?? {};
  // First: if the response is lost, the next attempt is one of the same browser.
  await saveInstallation(client.url, { installationId });
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const body = {
    platform: "web" as const,
    subscription: subscription.toJSON() as Schemas["RegisterBrowser"]["subscription"],
    installationId,
    appUrl: serviceWorker.scope,
    device: { name, locale: navigator.language, timeZone },
  };
  const { device } = await request(client, "POST", "/api/push/register", { body });
  await saveInstallation(client.url, { installationId, deviceId: device.id });
  return device;
}

/** The browser's subscription with the service's key. A browser has one at a time. @throws HomeportError push_unavailable */
async function subscribe(manager: PushManager, publicKey: string): Promise<PushSubscription> {
  try {
    const existing = await manager.getSubscription();
    const key = existing?.options.applicationServerKey;
    if (existing && key && base64url(key) === publicKey) return existing;
    await existing?.unsubscribe();
    return await manager.subscribe({ userVisibleOnly: true, applicationServerKey: publicKey });
  } catch (cause) {
    throw unavailable(cause);
  }
}

const hasPush = ({ serviceWorker }: WebPushOptions) => "Notification" in globalThis && "pushManager" in serviceWorker;

function unavailable(cause?: unknown): HomeportError {
  return new HomeportError("push_unavailable", { detail: "The browser cannot receive pushes", cause });
}
