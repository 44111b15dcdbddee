import { z } from "zod";
import { NextCursor, PageQuery } from "../../platform/lists";

const MAX_RETRIED_IDS = 1_000;
const State = z.enum(["queued", "sending", "retrying"]);

/** A queued email, without its content, which has links that sign people in. */
export const QueuedEmail = z.object({
  id: z.uuid(),
  kind: z.string(),
  to: z.string().describe("The recipient."),
  locale: z.string().nullable(),
  state: State.describe("`retrying`: an attempt failed. `lastError` says why."),
  attempts: z.int().min(0),
  lastError: z.string().nullable().describe("The codes of the mail server or of the connection."),
  createdAt: z.date(),
  nextAttemptAt: z.date().nullable().describe("null: it is being sent."),
  expiresAt: z.date().describe("It is not sent later than this."),
});
export type QueuedEmail = z.infer<typeof QueuedEmail>;

export const QueuedEmails = z.object({ messages: z.array(QueuedEmail), nextCursor: NextCursor });
export type QueuedEmails = z.infer<typeof QueuedEmails>;

export const EmailsQuery = PageQuery.extend({
  state: State.optional(),
  to: z.string().trim().toLowerCase().min(1).max(320).optional().describe("The recipient's email."),
  order: z.enum(["newest", "oldest"]).optional().describe("`newest` first by default."),
});
export type EmailsQuery = z.infer<typeof EmailsQuery>;

export const EmailParams = z.object({ emailId: z.uuid().toLowerCase().describe("The `id` of a queued email.") });

export const EmailRetry = z.strictObject({
  ids: z.array(z.uuid().toLowerCase()).min(1).max(MAX_RETRIED_IDS).optional().describe("Without it, all that wait."),
});
export type EmailRetry = z.infer<typeof EmailRetry>;

/** Postmark takes no status but 200 for a success. */
export const EmailEventsReceipt = z.object({ status: z.literal("accepted") });

export const EmailRetryResult = z.object({ retried: z.int().min(0).describe("How many are sent at once.") });
