import { ANNOUNCEMENT, ANNOUNCEMENT_DETAILS } from "@/app/api/admin/push/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "listPushMessages",
  description:
    "Lists the newest message first, with how many deliveries of it wait, were sent, failed and were cancelled. Only what operators wrote is shown: `title` is null for other kinds.",
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
    "Sends a notification to an account's devices, to one device or to an audience, at once or at `sendAt`, or announces a version. A `background` message wakes the app, which shows nothing. Recipients may turn off `custom` and `app.new_version`, and have quiet hours, which end before they are notified. Workers queue what is for an audience or a later time, and an announcement, in the background, `perSecond` devices a second, even if the service is stopped meanwhile; `GET` shows how far it has come. An audience is decided when its turn comes, device by device. A payload over 4,096 bytes in any language is refused. Each device is notified of a version once, so announcing it again reaches the devices that were not notified, such as after a cancellation. Send an `Idempotency-Key`: a repetition then sends nothing more.",
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
    "A version": { kind: "app.new_version", version: "2.1.0", perSecond: 1000 },
  },
  responses: {
    201: {
      description: "The message is stored.",
      examples: { "An announcement": ANNOUNCEMENT_DETAILS },
    },
  },
};
