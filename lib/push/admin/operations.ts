import { formOperation, operation } from "../../operation";
import { announceVersion, isOffered, withWarnings } from "./announce";
import { cancelMessage } from "./cancel";
import { AnnounceForm, SendForm, SendToAudienceForm, toAudience, toSendAt } from "./drafts";
import { estimateAnnouncement, estimateAudience } from "./estimate";
import { listDeliveries } from "./list-deliveries";
import { listMessages, showMessage } from "./list-messages";
import { NewMessage } from "./new-message";
import { endPause, listPauses } from "./pauses";
import { retryDeliveries } from "./retry";
import {
  AudienceEstimateInput,
  DEFAULT_PER_SECOND,
  Deliveries,
  DeliveriesQuery,
  EndedPause,
  EstimateQuery,
  EstimateWithWarnings,
  MessageParams,
  MessagesQuery,
  PauseParams,
  PushMessageDetails,
  PushMessages,
  PushPauses,
  Retry,
  RetryResult,
  SentMessage,
  Statistics,
  StatisticsQuery,
} from "./schema";
import { sendMessage } from "./send";
import { readStatistics } from "./statistics";

const READ = { role: "support", scope: "push:read" } as const;
const SEND = { role: "admin", stepUp: true, scope: "push:send", idempotency: "replay" } as const;

/** A text of 1,000 characters, encoded in its field, and twice in the preview's URL. */
const MAX_FORM_BYTES = 64 * 1024;

/** An announcement that workers are queueing. */
const ANNOUNCEMENT = {
  id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
  kind: "app.new_version",
  status: "queueing",
  to: { accountId: null, deviceId: null, bundleId: null, audience: null },
  title: "2.1.0",
  createdAt: "2026-11-20T09:00:00.000Z",
  sendAt: "2026-11-20T09:00:00.000Z",
  expiresAt: "2026-11-27T09:05:00.000Z",
  canceledAt: null,
  devices: 1000000,
  waiting: 55000,
  sent: 243800,
  failed: 1200,
  cancelled: 0,
};

/** The same, with all that is known of it. */
const ANNOUNCEMENT_DETAILS = {
  ...ANNOUNCEMENT,
  body: null,
  link: "updates",
  perSecond: 1000,
  queueingEndsAt: "2026-11-20T09:16:40.000Z",
  outcomes: [
    { state: "queued", reason: null, count: 55000 },
    { state: "sent", reason: null, count: 243800 },
    { state: "failed", reason: "Unregistered", count: 1200 },
  ],
};

/** The warning about the version of an announcement. */
const NOT_PUBLISHED = {
  code: "version_not_published",
  detail:
    "2.1.0 is not published: no release that is offered now has this version. Announcing it notifies about 1,000,000 devices. Apps that update from Homeport would find no update.",
};

const messagePage = (messageId: string): string => `/console/push/messages/${messageId}`;

export const pushOperations = {
  listPushDeliveries: operation({
    id: "listPushDeliveries",
    summary: "List deliveries of notifications to devices",
    description:
      "Lists deliveries: those being sent and those that wait, in their order, then those that have ended, newest first. Those of an account are listed newest first, those of an announcement by device. A `reason` without a `state` is that of failed and canceled deliveries. Deliveries that have ended are kept for 30 days.",
    ...READ,
    query: DeliveriesQuery,
    errors: ["not_found"],
    response: {
      schema: Deliveries,
      examples: {
        "A failed delivery": {
          deliveries: [
            {
              id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b13",
              messageId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
              deviceId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b12",
              eventKey: "version:2.1.0",
              kind: "app.new_version",
              title: "2.1.0",
              state: "failed",
              attempts: 1,
              apnsStatus: 410,
              reason: "Unregistered",
              createdAt: "2026-11-20T09:00:00.000Z",
              expiresAt: "2026-11-27T09:00:00.000Z",
              nextAttemptAt: null,
              endedAt: "2026-11-20T09:00:01.000Z",
            },
          ],
          nextCursor: null,
        },
      },
    },
    run: ({ ctx, query }) => listDeliveries(ctx, query),
  }),

  estimateAnnouncement: operation({
    id: "estimateAnnouncement",
    summary: "Estimate an announcement",
    description:
      "Estimates how many devices an announcement would be for, and how long it would take. Counts up to 100,000 devices; a larger number comes from the database's statistics. With `version`, `warnings` says if it is not published.",
    ...READ,
    query: EstimateQuery,
    errors: ["validation_failed"],
    response: {
      schema: EstimateWithWarnings,
      examples: {
        "A million devices": {
          devices: 1000000,
          isExact: false,
          perSecond: 1000,
          seconds: 1000,
          warnings: [NOT_PUBLISHED],
        },
      },
    },
    run: async ({ ctx, query }) => withWarnings(ctx, query, await estimateAnnouncement(ctx, query)),
  }),

  estimateAudience: operation({
    id: "estimateAudience",
    summary: "Estimate an audience",
    description:
      "Estimates how many devices a message to an audience would be for, and how long it would take. With more than 100,000 active devices, `devices` is extrapolated from 100,000 of them. With `version`, `warnings` says if it is not published.",
    ...READ,
    body: AudienceEstimateInput,
    examples: {
      "Outdated iPhones": {
        audience: { platform: "ios", appVersion: { below: "2.0.0" }, lastSeen: { from: "2026-10-24T00:00:00Z" } },
        perSecond: 1000,
      },
    },
    response: {
      schema: EstimateWithWarnings,
      examples: { "Some of many": { devices: 1200, isExact: true, perSecond: 1000, seconds: 2, warnings: [] } },
    },
    run: async ({ ctx, body }) => withWarnings(ctx, body, await estimateAudience(ctx, body)),
  }),

  listPushMessages: operation({
    id: "listPushMessages",
    summary: "List the newest notifications",
    description:
      "Lists messages, newest first, each with the numbers of its deliveries that wait, were sent, failed and were canceled. Only what operators wrote is shown: `title` is null for other kinds.",
    ...READ,
    query: MessagesQuery,
    errors: ["not_found"],
    response: { schema: PushMessages, examples: { "An announcement": { messages: [ANNOUNCEMENT], nextCursor: null } } },
    run: ({ ctx, query }) => listMessages(ctx, query),
  }),

  sendPushMessage: operation({
    id: "sendPushMessage",
    summary: "Send a notification, or announce a version",
    description:
      "Sends a notification to an account's devices, to one device or to an audience, at once or at `sendAt`, or announces a version. A `background` message wakes the app, which shows nothing. A `live_activity.start`, `.update` or `.end` goes to the devices that have registered a token for it; a newer update replaces those of the same activity that still wait. Recipients can turn off `custom` and `app.new_version`; during their quiet hours, notifications are held. Workers queue announcements, messages to an audience and scheduled messages in the background, at `perSecond` devices a second, and continue after a restart; `GET` shows the progress. Whether a device belongs to the audience is determined when its turn comes. A payload over 4,096 bytes in any language is refused. Each device is notified of a version once, so announcing it again reaches the devices that were not notified, such as after a cancellation. `warnings` says if the version is not published, and how many devices are notified of it; an estimate says so before. Send an `Idempotency-Key`, so that a repeated request sends nothing more.",
    ...SEND,
    body: NewMessage,
    maxBodyBytes: 128 * 1024, // a text in many languages
    errors: [
      "not_found",
      "no_active_device",
      "no_live_activity",
      "notifications_turned_off",
      "announcement_in_progress",
    ],
    examples: {
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
    response: {
      status: 201,
      schema: SentMessage,
      examples: {
        "An announcement": { ...ANNOUNCEMENT_DETAILS, warnings: [] },
        "An announcement of a version that is not published": { ...ANNOUNCEMENT_DETAILS, warnings: [NOT_PUBLISHED] },
      },
    },
    run: async ({ ctx, operator, body, changeId }) => {
      if (body.kind === "app.new_version") return announceVersion(ctx, operator, body);
      return { ...(await sendMessage(ctx, operator, body, changeId)), warnings: [] };
    },
  }),

  sendNotification: formOperation({
    id: "sendNotification",
    summary: "Send a notification",
    role: "admin",
    body: SendForm,
    maxBodyBytes: MAX_FORM_BYTES,
    run: ({ ctx, operator, body: { messageKey, accountId, deviceId, title, body, link } }) => {
      const to = deviceId === undefined ? { account: accountId } : { deviceId };
      return sendMessage(ctx, operator, { kind: "custom", to, title, body, link }, messageKey);
    },
    form: {
      after: ({ id }, { deviceId }) =>
        deviceId === undefined ? { to: messagePage(id), done: "sent" } : { done: "test_sent" },
    },
  }),

  sendToAudience: formOperation({
    id: "sendToAudience",
    summary: "Send a notification to an audience",
    role: "admin",
    body: SendToAudienceForm,
    maxBodyBytes: MAX_FORM_BYTES,
    run: ({ ctx, operator, body: { messageKey, title, body, link, perSecond, ...fields } }) => {
      const [to, sendAt] = [{ audience: toAudience(fields) }, toSendAt(fields)];
      return sendMessage(ctx, operator, { kind: "custom", to, title, body, link, perSecond, sendAt }, messageKey);
    },
    form: { after: ({ id }) => ({ to: messagePage(id), done: "sent" }) },
  }),

  announceVersion: formOperation({
    id: "announceVersion",
    summary: "Announce a version",
    role: "admin",
    body: AnnounceForm,
    run: async ({ ctx, operator, body: { version, isWarned, perSecond = DEFAULT_PER_SECOND, ...fields } }) => {
      if (!isWarned && !(await isOffered(ctx, version))) return null;
      const { bundleId, ...choices } = toAudience(fields);
      const isEveryone = Object.values(choices).every((choice) => choice === undefined);
      const to = isEveryone ? { bundleId } : { audience: { bundleId, ...choices } };
      const announcement = { kind: "app.new_version", version, to, perSecond, sendAt: toSendAt(fields) } as const;
      return announceVersion(ctx, operator, announcement);
    },
    form: {
      // Without a warning of a version that is not offered now, the preview is made again.
      after: (announced) => (announced ? { to: messagePage(announced.id), done: "announced" } : { done: "stale" }),
    },
  }),

  showPushMessage: operation({
    id: "showPushMessage",
    summary: "Show a notification and its outcome",
    description: "Shows a message, with its text if an operator wrote it, and its deliveries by state and reason.",
    ...READ,
    params: MessageParams,
    errors: ["not_found"],
    response: { schema: PushMessageDetails, examples: { "An announcement": ANNOUNCEMENT_DETAILS } },
    run: ({ ctx, params }) => showMessage(ctx, params.messageId),
  }),

  cancelPushMessage: operation({
    id: "cancelPushMessage",
    summary: "Cancel the unsent deliveries of a notification",
    description:
      "Cancels the deliveries that no worker has begun to send. Deliveries of an announcement that are queued already end unsent when they become due: within a minute, or at their next retry. The message stays in the list. Repeating the request changes nothing.",
    ...SEND,
    params: MessageParams,
    errors: ["not_found"],
    response: {
      schema: PushMessageDetails,
      examples: {
        "An announcement": { ...ANNOUNCEMENT_DETAILS, status: "canceled", canceledAt: "2026-11-20T09:05:00.000Z" },
      },
    },
    run: ({ ctx, operator, params }) => cancelMessage(ctx, operator, params.messageId),
    form: { after: () => ({ done: "canceled" }) },
  }),

  listPushPauses: operation({
    id: "listPushPauses",
    summary: "List the APNs environments that are paused",
    description:
      "Lists the APNs environments to which nothing is sent for now, such as after APNs has refused the key of the service. Deliveries wait.",
    ...READ,
    response: {
      schema: PushPauses,
      examples: {
        "A wrong key": {
          pauses: [
            { environment: "production", until: "2026-11-20T09:05:00.000Z", reason: "403 InvalidProviderToken" },
          ],
        },
      },
    },
    run: ({ ctx }) => listPauses(ctx),
  }),

  endPushPause: operation({
    id: "endPushPause",
    summary: "End the pause of an APNs environment",
    description: "Ends a pause, and makes the deliveries that waited for it due.",
    ...SEND,
    params: PauseParams,
    errors: ["not_found"],
    response: { schema: EndedPause, examples: { "Two waited": { resumed: 2 } } },
    run: ({ ctx, operator, params }) => endPause(ctx, operator, params),
    form: { after: () => ({ done: "pause_ended" }) },
  }),

  retryPushDeliveries: operation({
    id: "retryPushDeliveries",
    summary: "Send failed notifications again",
    description:
      "Ends the pauses of APNs environments, and requeues failed deliveries, unless they have expired or their owners have turned them off: those with the given ids, or all, up to 100,000 a request. Devices that APNs reported as invalid stay invalid.",
    ...SEND,
    body: Retry,
    maxBodyBytes: 64 * 1024, // 1,000 ids
    examples: { All: {}, "One delivery": { ids: ["019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b13"] } },
    response: { schema: RetryResult, examples: { "Two deliveries": { resumed: 0, retried: 2, isComplete: true } } },
    run: ({ ctx, operator, body }) => retryDeliveries(ctx, operator, body),
    form: { after: () => ({ done: "retried" }) },
  }),

  readPushStatistics: operation({
    id: "readPushStatistics",
    summary: "Count notifications by outcome",
    description:
      "Counts the deliveries that have ended in the last 24 hours by hour, or in 30 days by day, in UTC, and by state and reason; and those that are due and not sent yet. Deliveries that an older version sends during an upgrade are not counted.",
    ...READ,
    query: StatisticsQuery,
    response: {
      schema: Statistics,
      examples: {
        "The last hour": {
          buckets: [{ at: "2026-11-20T09:00:00.000Z", sent: 243800, failed: 1200, cancelled: 0 }],
          outcomes: [
            { state: "sent", reason: null, count: 243800 },
            { state: "failed", reason: "Unregistered", count: 1200 },
          ],
          queue: { due: 12, oldestDueAt: "2026-11-20T09:12:00.000Z" },
        },
      },
    },
    run: ({ ctx, query }) => readStatistics(ctx, query),
  }),
};
