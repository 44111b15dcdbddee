/** What the service sends to a browser. A newer service may send further fields. */
export type PushMessage = {
  v: 1;
  /** The delivery's id. */
  id: string;
  /** Such as `billing.renewed`. */
  kind: string;
  title: string;
  body: string;
  /** Where a click leads: an absolute URL or a path. null: `data.link` may name a screen. */
  url: string | null;
  /** A notification replaces a shown one with the same tag. */
  tag: string | null;
  data: Record<string, unknown>;
};

/** Whether something is a message of the service, and not one of the app's own. */
export function isPushMessage(value: unknown): value is PushMessage {
  const { v, id, kind } = (value ?? {}) as Partial<PushMessage>;
  return v === 1 && typeof id === "string" && typeof kind === "string";
}

/**
 * Calls `listener` in a page with each push that the service worker receives, until the signal is aborted. The worker has to
 * call `handlePushes`.
 */
export function onPush(listener: (push: PushMessage) => void, { signal }: { signal?: AbortSignal } = {}): void {
  const { serviceWorker } = navigator;
  serviceWorker.addEventListener("message", ({ data }) => isPushMessage(data) && listener(data), { signal });
  serviceWorker.startMessages();
}
