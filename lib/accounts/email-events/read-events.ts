import { z } from "zod";
import { Email } from "../../platform/email";

/**
 * What a provider reports about an email. `bounced`: refused for good. `allowed`: the provider sends to this address again, after
 * its owner or an operator has asked for that.
 */
export type EmailEvent = { email: string; report: "bounced" | "complained" | "delivered" | "allowed"; at: string };

/** A field that is missing or of another type is left out: providers add fields and types of events. */
const Text = z.string().optional().catch(undefined);
const optional = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);
const listOf = <Schema extends z.ZodType>(schema: Schema) => z.array(schema).catch([]);

type Report = EmailEvent["report"] | undefined;

/** The events of recipients that can be an account's. */
function eventsOf(report: Report, at: string | undefined, recipients: (string | undefined)[]): EmailEvent[] {
  if (report === undefined) return [];
  return recipients.flatMap((recipient) => {
    const { data: email } = Email.safeParse(recipient);
    return email === undefined ? [] : [{ email, report, at: at ?? "" }];
  });
}

/** Postmark, "Bounce webhook", "Spam complaint webhook", "Delivery webhook" and "Subscription change webhook". */
const Postmark = z.object({
  RecordType: Text,
  Type: Text,
  Email: Text,
  Recipient: Text,
  BouncedAt: Text,
  DeliveredAt: Text,
  ChangedAt: Text,
  SuppressSending: optional(z.boolean()),
  SuppressionReason: Text,
});

/** Postmark, "Bounce API", Bounce types: those that no retry changes, and why Postmark no longer sends to an address. */
const POSTMARK_REPORTS: ReadonlyMap<string, Report> = new Map([
  ["HardBounce", "bounced"],
  ["BadEmailAddress", "bounced"],
  ["SpamComplaint", "complained"],
]);

export function readPostmark(body: unknown): EmailEvent[] {
  const event = Postmark.parse(body);
  const { RecordType: type, Recipient, ChangedAt, SuppressionReason = "" } = event;
  if (type === "Delivery") return eventsOf("delivered", event.DeliveredAt, [Recipient]);
  if (type === "SubscriptionChange") {
    const report = event.SuppressSending === false ? "allowed" : POSTMARK_REPORTS.get(SuppressionReason);
    return eventsOf(report, ChangedAt, [Recipient]);
  }
  const isBounce = type === "Bounce" || type === "SpamComplaint";
  return isBounce ? eventsOf(POSTMARK_REPORTS.get(event.Type ?? type), event.BouncedAt, [event.Email]) : [];
}

const Recipients = listOf(z.object({ emailAddress: Text }));

/**
 * Amazon SES, "Amazon SNS notification contents" (`notificationType`), and "Contents of event data that Amazon SES publishes to
 * Amazon SNS" (`eventType`).
 */
const Ses = z.object({
  notificationType: Text,
  eventType: Text,
  bounce: optional(z.object({ bounceType: Text, bouncedRecipients: Recipients, timestamp: Text })),
  complaint: optional(z.object({ complaintFeedbackType: Text, complainedRecipients: Recipients, timestamp: Text })),
  delivery: optional(z.object({ recipients: listOf(Text), timestamp: Text })),
});

export function readSes(body: unknown): EmailEvent[] {
  const { eventType, notificationType, bounce, complaint, delivery } = Ses.parse(body);
  const addresses = (recipients: z.infer<typeof Recipients>) => recipients.map(({ emailAddress }) => emailAddress);
  switch (eventType ?? notificationType) {
    case "Bounce": {
      const report = bounce?.bounceType === "Permanent" ? "bounced" : undefined;
      return eventsOf(report, bounce?.timestamp, addresses(bounce?.bouncedRecipients ?? []));
    }
    case "Complaint": {
      // RFC 5965, section 7.3: the message was not spam after all.
      const report = complaint?.complaintFeedbackType === "not-spam" ? "allowed" : "complained";
      return eventsOf(report, complaint?.timestamp, addresses(complaint?.complainedRecipients ?? []));
    }
    case "Delivery":
      return eventsOf("delivered", delivery?.timestamp, delivery?.recipients ?? []);
    default:
      return [];
  }
}

/** Resend, "Webhooks": `email.bounced`, `email.complained`, `email.delivered` and `suppression.removed`. */
const Resend = z.object({
  type: Text,
  created_at: Text,
  data: z.object({
    to: listOf(Text).or(z.string().transform((one) => [one])),
    email: Text,
    bounce: optional(z.object({ type: Text })),
  }),
});

export function readResend(body: unknown): EmailEvent[] {
  const { type, created_at: at, data } = Resend.parse(body);
  switch (type) {
    case "email.bounced": {
      const { type: kind = "Permanent" } = data.bounce ?? {};
      return eventsOf(kind === "Permanent" ? "bounced" : undefined, at, data.to);
    }
    case "email.complained":
      return eventsOf("complained", at, data.to);
    case "email.delivered":
      return eventsOf("delivered", at, data.to);
    case "suppression.removed":
      return eventsOf("allowed", at, [data.email]);
    default:
      return [];
  }
}
