import type { Client } from "./http/client.js";
import type { NotificationOptions } from "./web-push/browser-types.js";
import { isPushMessage, type PushMessage } from "./web-push/message.js";
import { refreshWebPush } from "./web-push/registration.js";

export type { PushMessage } from "./web-push/message.js";

export type PushWorkerOptions = {
  /** Registers a subscription that the browser has replaced. Without it, the next `refreshWebPush` of a page does. */
  client?: Client;
  /** For every notification, such as `icon` and `badge`. */
  notification?: NotificationOptions;
  /** Where a click leads: a URL or a path, or null for the app's start. By default, the push's `url`. */
  urlOf?: (push: PushMessage) => string | null;
  /** Origins besides the app's own to which a click may lead, such as `https://docs.example.com`. */
  origins?: readonly string[];
};

type WorkerEvent = Event & { waitUntil(done: Promise<unknown>): void };
/** `notification`: of a declarative push message, in browsers that know them. */
type PushEvent = WorkerEvent & {
  data: { json(): unknown } | null;
  notification?: Pick<Notification, "title" | "body" | "data"> | null;
};
type ClickEvent = WorkerEvent & { notification: Pick<Notification, "close" | "data"> };
type AppWindow = { url: string; focus(): Promise<unknown>; postMessage(message: unknown): void };

/** What is used of ServiceWorkerGlobalScope, whose types TypeScript cannot load beside those of pages. */
type WorkerScope = {
  registration: ServiceWorkerRegistration;
  clients: {
    matchAll(query: { type: "window"; includeUncontrolled: boolean }): Promise<readonly AppWindow[]>;
    openWindow(url: string): Promise<unknown>;
  };
  addEventListener(type: "push", listener: (event: PushEvent) => void): void;
  addEventListener(type: "notificationclick", listener: (event: ClickEvent) => void): void;
  addEventListener(type: "pushsubscriptionchange", listener: (event: WorkerEvent) => void): void;
};

/**
 * In a service worker: shows each push, tells the app's open pages (`onPush`), and opens its page after a click. Call it
 * while the script is first evaluated. Pushes and notifications of the app's own are left alone.
 */
export function handlePushes(options: PushWorkerOptions = {}): void {
  const scope = globalThis as unknown as WorkerScope;
  const { client, notification } = options;
  const windows = () => scope.clients.matchAll({ type: "window", includeUncontrolled: true });

  async function receive(push: PushMessage): Promise<void> {
    for (const page of await windows()) page.postMessage(push);
    // Always, also while a page is open: browsers withdraw the permission after silent pushes (userVisibleOnly).
    const { title, body, id, tag } = push;
    const shown = { ...notification, body, tag: tag ?? id, data: push }; // the id, so that a second delivery replaces the first
    await scope.registration.showNotification(title, shown);
  }

  scope.addEventListener("push", (event) => {
    const push = readPush(event);
    if (push) event.waitUntil(receive(push));
  });

  scope.addEventListener("notificationclick", (event) => {
    const push: unknown = event.notification.data;
    if (!isPushMessage(push)) return;
    event.notification.close();
    const url = targetOf(push, scope.registration.scope, options);
    event.waitUntil(windows().then((pages) => open(scope, pages, url)));
  });

  if (client) {
    scope.addEventListener("pushsubscriptionchange", (event) =>
      event.waitUntil(refreshWebPush(client, { serviceWorker: scope.registration })),
    );
  }
}

function readPush({ data, notification }: PushEvent): PushMessage | null {
  try {
    const { title, body } = notification ?? {};
    const push = data ? data.json() : { ...notification?.data, title, body };
    return isPushMessage(push) ? push : null;
  } catch {
    return null; // not JSON
  }
}

/** Where a click leads; null, the app's start, also if the URL is not on an origin that the app trusts. */
function targetOf(push: PushMessage, base: string, { urlOf, origins = [] }: PushWorkerOptions): string | null {
  const given = urlOf ? urlOf(push) : push.url;
  if (typeof given !== "string" || !URL.canParse(given, base)) return null;
  const { protocol, origin, href } = new URL(given, base);
  const isTrusted = origin === new URL(base).origin || origins.includes(origin);
  return isTrusted && protocol !== "blob:" ? href : null; // a blob has the origin of its page
}

/** Focuses a window that shows the URL, or opens one. */
async function open({ clients, registration }: WorkerScope, pages: readonly AppWindow[], url: string | null) {
  const { scope } = registration;
  const shown = pages.find((page) => (url === null ? page.url.startsWith(scope) : page.url === url));
  await (shown ? shown.focus() : clients.openWindow(url ?? scope));
}
