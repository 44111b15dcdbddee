import { z } from "zod";
import { AccountName } from "../../platform/find-account";
import { NextCursor, PageQuery } from "../../platform/lists";
import { Time } from "../../platform/storable";
import { Audience } from "../audience";

const MAX_RETRIED_IDS = 1_000;
export const MAX_PER_SECOND = 10_000;
export const DEFAULT_PER_SECOND = 1_000;

export const BundleId = z.string().min(1).max(255).describe("An app: one of `APNS_BUNDLE_IDS`.");
/** A CFBundleShortVersionString (Apple, "Information Property List") or a semantic version. */
export const AnnouncedVersion = z
  .string()
  .max(64)
  .regex(/^\d+(\.\d+){0,3}(-[\dA-Za-z.-]+)?(\+[\dA-Za-z.-]+)?$/, "Must be a version such as 2.1.0");
export const PerSecond = z.int().min(1).max(MAX_PER_SECOND);

const count = () => z.int().min(0);
const State = z.enum(["queued", "sending", "sent", "failed", "cancelled"]);

const Outcomes = z.array(
  z.object({
    state: State,
    reason: z.string().nullable().describe("The push service's reason, or Homeport's. null: none."),
    count: count(),
  }),
);

const Title = z
  .string()
  .nullable()
  .describe("The title, or the version that is announced. null: operators did not write it, or it has none.");

/** A message: what its deliveries share. */
export const PushMessage = z.object({
  id: z.uuid(),
  kind: z.string(),
  status: z
    .enum(["scheduled", "queueing", "sending", "ended", "canceled"])
    .describe(
      "`scheduled`: it begins at `sendAt`. `queueing`: the deliveries of an announcement are being added to the queue. `sending`: some wait.",
    ),
  to: z.object({
    accountId: z.uuid().nullable(),
    deviceId: z.uuid().nullable(),
    bundleId: z.string().nullable(),
    audience: Audience.nullable(),
  }),
  title: Title,
  createdAt: z.date(),
  sendAt: z.date().nullable().describe("When the first delivery of an audience's or a later message is due."),
  expiresAt: z.date(),
  canceledAt: z.date().nullable(),
  devices: count().describe("How many devices it is for. For an announcement, the estimate when it started."),
  waiting: count(),
  sent: count(),
  failed: count(),
  cancelled: count(),
});
export type PushMessage = z.infer<typeof PushMessage>;

export const PushMessageDetails = PushMessage.extend({
  body: z.string().nullable(),
  link: z.string().nullable(),
  perSecond: z.int().nullable(),
  queueingEndsAt: z.date().nullable().describe("Approximately when the last delivery is due. null: all are queued."),
  outcomes: Outcomes,
});
export type PushMessageDetails = z.infer<typeof PushMessageDetails>;

export const PushMessages = z.object({ messages: z.array(PushMessage), nextCursor: NextCursor });
export type PushMessages = z.infer<typeof PushMessages>;

export const MessagesQuery = PageQuery.extend({
  account: AccountName.optional().describe("Only messages to an account: its id or email."),
  by: z.enum(["operator"]).optional().describe("`operator`: only messages that operators sent."),
});
export type MessagesQuery = z.infer<typeof MessagesQuery>;

export const MessageParams = z.object({ messageId: z.uuid().toLowerCase().describe("The `id` of a message.") });

export const Delivery = z.object({
  id: z.uuid().describe("The `apns-id`."),
  messageId: z.uuid(),
  deviceId: z.uuid(),
  eventKey: z.string().nullable(),
  kind: z.string().nullable().describe("null: the message was removed."),
  title: Title,
  state: State,
  attempts: count(),
  apnsStatus: z.int().nullable(),
  reason: z.string().nullable(),
  createdAt: z.date(),
  expiresAt: z.date(),
  nextAttemptAt: z.date().nullable().describe("null: it has ended."),
  endedAt: z.date().nullable(),
});
export type Delivery = z.infer<typeof Delivery>;

export const Deliveries = z.object({ deliveries: z.array(Delivery), nextCursor: NextCursor });
export type Deliveries = z.infer<typeof Deliveries>;

export const DeliveriesQuery = PageQuery.extend({
  account: AccountName.optional(),
  messageId: z.uuid().toLowerCase().optional(),
  state: State.optional(),
  reason: z.string().min(1).max(200).optional(),
  endedFrom: Time.optional().describe("Only deliveries that ended at this time or later."),
});
export type DeliveriesQuery = z.infer<typeof DeliveriesQuery>;

export const Retry = z.strictObject({
  ids: z
    .array(z.uuid().toLowerCase())
    .min(1)
    .max(MAX_RETRIED_IDS)
    .optional()
    .describe("The failed deliveries. Without it, all that have not expired."),
});
export type Retry = z.infer<typeof Retry>;

export const RetryResult = z.object({
  resumed: count().describe("How many deliveries had waited for a pause to end."),
  retried: count().describe("How many failed deliveries are queued again."),
  isComplete: z.boolean().describe("false: more are left. Send the request again."),
});
export type RetryResult = z.infer<typeof RetryResult>;

const Environment = z.enum(["production", "sandbox", "web"]);
export const PushPause = z.object({ environment: Environment, until: z.date(), reason: z.string() });
export type PushPause = z.infer<typeof PushPause>;
export const PushPauses = z.object({ pauses: z.array(PushPause) });
export const PauseParams = z.object({ environment: Environment });
export type PauseParams = z.infer<typeof PauseParams>;
export const EndedPause = z.object({ resumed: count() });

/** As a query or a form has it. */
export const PerSecondText = z
  .string()
  .regex(/^\d{1,5}$/, "Must be an integer")
  .transform(Number)
  .pipe(PerSecond)
  .optional();

const ofVersion = {
  version: AnnouncedVersion.optional().describe(
    "The version that is announced: `warnings` says if it is not published.",
  ),
};
export const EstimateQuery = z.object({ bundleId: BundleId.optional(), perSecond: PerSecondText, ...ofVersion });
export type EstimateQuery = z.infer<typeof EstimateQuery>;

export const AudienceEstimateInput = z.strictObject({
  audience: Audience,
  perSecond: PerSecond.default(DEFAULT_PER_SECOND),
  ...ofVersion,
});
export type AudienceEstimateInput = z.infer<typeof AudienceEstimateInput>;

export const Estimate = z.object({
  devices: count(),
  isExact: z.boolean().describe("false: there are so many that they were not all counted."),
  perSecond: PerSecond,
  seconds: count().describe("Until the last device is notified."),
});
export type Estimate = z.infer<typeof Estimate>;

const Warnings = z
  .array(z.object({ code: z.enum(["version_not_published"]), detail: z.string() }))
  .describe("What is likely to be a mistake, for people. Nothing is refused because of it.");

export const EstimateWithWarnings = Estimate.extend({ warnings: Warnings });
export type EstimateWithWarnings = z.infer<typeof EstimateWithWarnings>;

export const SentMessage = PushMessageDetails.extend({ warnings: Warnings });
export type SentMessage = z.infer<typeof SentMessage>;

export const StatisticsQuery = z.object({
  period: z.enum(["day", "month"]).optional().describe("`day`: the last 24 hours, by default. `month`: 30 days."),
});
export type StatisticsQuery = z.infer<typeof StatisticsQuery>;

export const Statistics = z.object({
  buckets: z.array(
    z.object({
      at: z.date().describe("The start of an hour or a day."),
      sent: count(),
      failed: count(),
      cancelled: count(),
    }),
  ),
  outcomes: Outcomes,
  queue: z.object({
    due: count().describe("How many deliveries wait to be sent now: at most 1,000."),
    oldestDueAt: z.date().nullable(),
  }),
});
export type Statistics = z.infer<typeof Statistics>;
