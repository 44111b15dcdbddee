import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { handlePushes, type PushMessage, type PushWorkerOptions } from "@/clients/js/src/service-worker";

const SCOPE = "https://app.example.com/";
const PUSH: PushMessage = {
  v: 1,
  id: "0198d2f5-0000-7000-8000-000000000000",
  kind: "custom",
  title: "Hello",
  body: "You have news",
  url: "/news",
  tag: null,
  data: {},
};

type Listener = (event: object) => void;
type Shown = { title: string; options: NotificationOptions };

/** What the browser gives a service worker, as far as the kit uses it, and what the kit did with it. */
function newWorker(options: PushWorkerOptions = {}, urls: string[] = []) {
  const listeners = new Map<string, Listener>();
  const did = { shown: [] as Shown[], posted: [] as unknown[], opened: [] as string[], focused: [] as string[] };
  const windows = urls.map((url) => ({
    url,
    focus: async () => void did.focused.push(url),
    postMessage: (message: unknown) => void did.posted.push(message),
  }));
  vi.stubGlobal("registration", {
    scope: SCOPE,
    showNotification: async (title: string, given: NotificationOptions) =>
      void did.shown.push({ title, options: given }),
  });
  vi.stubGlobal("clients", {
    matchAll: async () => windows,
    openWindow: async (url: string) => void did.opened.push(url),
  });
  vi.stubGlobal("addEventListener", (type: string, listener: Listener) => void listeners.set(type, listener));
  handlePushes(options);

  async function dispatch(type: string, event: object): Promise<void> {
    const waits: Promise<unknown>[] = [];
    listeners.get(type)?.({ ...event, waitUntil: (done: Promise<unknown>) => waits.push(done) });
    await Promise.all(waits);
  }
  const push = (text: string) => dispatch("push", { data: { json: () => JSON.parse(text) } });
  let closed = 0;
  const click = (data: unknown) => dispatch("notificationclick", { notification: { data, close: () => closed++ } });
  return { did, dispatch, push, click, closed: () => closed, types: () => [...listeners.keys()] };
}

const clickOn = async (url: string | null, options: PushWorkerOptions = {}, urls: string[] = []) => {
  const { did, click } = newWorker(options, urls);
  await click({ ...PUSH, url });
  return { opened: did.opened, focused: did.focused };
};

beforeEach(() => void vi.unstubAllGlobals());
afterEach(() => void vi.unstubAllGlobals());

describe("the service worker", () => {
  test("shows a push, and passes it to every open page", async () => {
    const { did, push } = newWorker({ notification: { icon: "/icon.png" } }, [`${SCOPE}a`, `${SCOPE}b`]);
    await push(JSON.stringify(PUSH));
    const options = { icon: "/icon.png", body: "You have news", tag: PUSH.id, data: PUSH };
    expect(did.shown).toEqual([{ title: "Hello", options }]);
    expect(did.posted).toEqual([PUSH, PUSH]);
  });

  test("lets a second delivery, and a push with the same tag, replace the first", async () => {
    const { did, push } = newWorker();
    for (const tag of [null, null, "bill:1"]) await push(JSON.stringify({ ...PUSH, tag }));
    expect(did.shown.map(({ options }) => options.tag)).toEqual([PUSH.id, PUSH.id, "bill:1"]);
  });

  test("leaves pushes and notifications that are not the service's to the app", async () => {
    const { did, push, click, dispatch, closed } = newWorker();
    for (const text of ["Test push message from DevTools.", "null", "[]", '{"v":1}', '{"v":2,"id":"1","kind":"a"}'])
      await push(text);
    await dispatch("push", { data: null });
    for (const data of [undefined, null, "text", { url: "/" }]) await click(data);
    expect(did).toEqual({ shown: [], posted: [], opened: [], focused: [] });
    expect(closed()).toBe(0);
  });

  test("opens the push's URL after a click, or focuses the window that shows it", async () => {
    expect(await clickOn("/news?a=1#b")).toEqual({ opened: [`${SCOPE}news?a=1#b`], focused: [] });
    expect(await clickOn("/news", {}, [SCOPE, `${SCOPE}news`])).toEqual({ opened: [], focused: [`${SCOPE}news`] });
    expect(await clickOn(null, {}, [`${SCOPE}work`])).toEqual({ opened: [], focused: [`${SCOPE}work`] });
    expect(await clickOn(null)).toEqual({ opened: [SCOPE], focused: [] });
  });

  test.each([
    "https://evil.example/",
    "//evil.example/",
    "\\\\evil.example/",
    "https://app.example.com@evil.example/",
    "https://app.example.com.evil.example/",
    "http://app.example.com/",
    "https://app.example.com:444/",
    "javascript:alert(1)",
    7 as unknown as string,
  ])("opens the app's start instead of %s", async (url) => {
    expect(await clickOn(url)).toEqual({ opened: [SCOPE], focused: [] });
    expect(await clickOn("/", { urlOf: () => url })).toEqual({ opened: [SCOPE], focused: [] });
  });

  test("opens what the app maps the push to, and the origins that it names", async () => {
    const urlOf = ({ kind }: PushMessage) => (kind === "custom" ? "/inbox" : null);
    expect(await clickOn("/news", { urlOf })).toMatchObject({ opened: [`${SCOPE}inbox`] });
    const origins = ["https://docs.example.com"];
    expect(await clickOn("https://docs.example.com/new", { origins })).toMatchObject({
      opened: ["https://docs.example.com/new"],
    });
  });
});
