import { ANNOUNCEMENT, ANNOUNCEMENT_DETAILS, NOT_PUBLISHED } from "@/app/api/admin/push/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "listPushMessages",
  description:
    "Lists messages, newest first, each with the numbers of its deliveries that wait, were sent, failed and were canceled. Only what operators wrote is shown: `title` is null for other kinds.",
  responses: {
    200: {
      description: "A page of messages.",
      examples: { "An announcement": { messages: [ANNOUNCEMENT], nextCursor: null } },
    },
  },
};

export const POST: OperationDetails = {
  operationId: "sendPushMessage",
  description:
    "Sends a notification to an account's devices, to one device or to an audience, at once or at `sendAt`, or announces a version. A `background` message wakes the app, which shows nothing. A `live_activity.start`, `.update` or `.end` goes to the devices that have registered a token for it; a newer update replaces those of the same activity that still wait. Recipients can turn off `custom` and `app.new_version`; during their quiet hours, notifications are held. Workers queue announcements, messages to an audience and scheduled messages in the background, at `perSecond` devices a second, and continue after a restart; `GET` shows the progress. Whether a device belongs to the audience is determined when its turn comes. A payload over 4,096 bytes in any language is refused. Each device is notified of a version once, so announcing it again reaches the devices that were not notified, such as after a cancellation. `warnings` says if the version is not published, and how many devices are notified of it; an estimate says so before. Send an `Idempotency-Key`, so that a repeated request sends nothing more.",
  requests: {
    "To an account": {
      kind: "custom",
      to: { account: "ann@example.com" },
      title: "Your export is ready",
      body: "Open the app to download it.",
      link: "exports",
    },
    "To a test device": {
      kind: "custom",
      to: { deviceId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b12" },
      title: "A test",
      body: "Does it arrive?",
    },
    "To an audience, at a time, in two languages": {
      kind: "custom",
      to: { audience: { platform: "ios", locale: "de", appVersion: { below: "2.0.0" }, entitlement: "pro" } },
      title: "Export is faster now",
      body: "Update to try it.",
      translations: {
        de: { title: "Exportieren geht schneller", body: "Aktualisieren Sie die App, um es zu testen." },
      },
      sendAt: "2026-11-21T09:00:00Z",
      interruptionLevel: "passive",
    },
    "In the background": {
      kind: "background",
      to: { account: "ann@example.com" },
      data: { sync: "notes" },
      collapseId: "sync",
    },
    "Start a Live Activity": {
      kind: "live_activity.start",
      to: { account: "ann@example.com" },
      attributesType: "DeliveryAttributes",
      attributes: { order: "4711" },
      contentState: { step: "packed", arrivesAt: 1794999600 },
      alert: { title: "Your order", body: "It has been packed." },
      inputPushToken: true,
    },
    "Update a Live Activity": {
      kind: "live_activity.update",
      to: { account: "ann@example.com" },
      activityId: "order-4711",
      contentState: { step: "on the way", arrivesAt: 1794998400 },
      staleDate: "2026-11-20T10:00:00Z",
      priority: 5,
    },
    "End a Live Activity": {
      kind: "live_activity.end",
      to: { account: "ann@example.com" },
      activityId: "order-4711",
      contentState: { step: "delivered", arrivesAt: 1794998400 },
      dismissalDate: "2026-11-20T11:00:00Z",
    },
    "A version": { kind: "app.new_version", version: "2.1.0", perSecond: 1000 },
    "A version, to devices with an older one": {
      kind: "app.new_version",
      version: "2.1.0",
      to: { audience: { appVersion: { below: "2.1.0" } } },
    },
  },
  responses: {
    201: {
      description: "The message is stored.",
      examples: {
        "An announcement": { ...ANNOUNCEMENT_DETAILS, warnings: [] },
        "An announcement of a version that is not published": { ...ANNOUNCEMENT_DETAILS, warnings: [NOT_PUBLISHED] },
      },
    },
  },
};
