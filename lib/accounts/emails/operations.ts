import { operation } from "../../operation";
import { receiveEmailEvents } from "../email-events/receive";
import { listEmails, removeEmail, retryEmails } from "./queued-emails";
import { EmailEventsReceipt, EmailParams, EmailRetry, EmailRetryResult, EmailsQuery, QueuedEmails } from "./schema";

/** 1,000 ids. */
const MAX_BODY_BYTES = 64 * 1024;

/** Amazon SNS, "Message size". Postmark and Resend send less. */
const MAX_EVENT_BYTES = 256 * 1024;

/** Postmark, "Bounce webhook". */
const POSTMARK_BOUNCE = {
  RecordType: "Bounce",
  Type: "HardBounce",
  Email: "ann@example.com",
  BouncedAt: "2026-11-20T09:00:00Z",
};

/** Resend, "Event types". */
const RESEND_COMPLAINT = {
  type: "email.complained",
  created_at: "2026-11-20T09:00:00.000Z",
  data: { to: ["ann@example.com"] },
};

export const mailOperations = {
  receiveEmailEvents: operation({
    id: "receiveEmailEvents",
    summary: "Receive the email provider's webhook",
    description:
      "Receives what Postmark, Amazon SES (through Amazon SNS) or Resend reports about sent emails. An account whose email bounces for good, or whose owner has reported one as spam, has that in `emailProblem`, until its owner uses an emailed link or changes the email. Deliveries may be repeated, late and out of order; other events change nothing. Resend signs with a secret of `EMAIL_EVENTS_SECRET`; Postmark and Amazon SNS send it as the password of Basic authentication, and Amazon's signature is verified, too.",
    security: [{ emailEventsPassword: [] }, { svixSignature: [] }],
    bodyFormat: "raw",
    maxBodyBytes: MAX_EVENT_BYTES,
    errors: [
      "malformed_json",
      "validation_failed",
      "webhook_unauthorized",
      "webhook_not_configured",
      "provider_unavailable",
    ],
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: { type: "object", description: "The event as its provider documents it." },
          examples: { "A bounce, from Postmark": POSTMARK_BOUNCE, "A complaint, from Resend": RESEND_COMPLAINT },
        },
      },
    },
    response: {
      description: "The events were applied, or are about nobody here.",
      schema: EmailEventsReceipt,
      examples: { Accepted: { status: "accepted" } },
    },
    run: async ({ ctx, bytes: raw, caller, request: { headers } }) => {
      await receiveEmailEvents(ctx, { raw, headers }, caller);
      return { status: "accepted" as const };
    },
  }),

  listQueuedEmails: operation({
    id: "listQueuedEmails",
    summary: "List the queued emails",
    description:
      "Lists the emails that are not sent yet, without their texts, which contain links that sign people in. An email leaves the queue when the mail server accepts it, rejects it for good, or when it expires.",
    role: "support",
    scope: "mail:read",
    query: EmailsQuery,
    response: {
      description: "A page of emails.",
      schema: QueuedEmails,
      examples: {
        "A mail server that does not respond": {
          messages: [
            {
              id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b14",
              kind: "email_verification",
              to: "ann@example.com",
              locale: "en",
              state: "retrying",
              attempts: 3,
              lastError: "ESOCKET CONN",
              createdAt: "2026-11-20T09:00:00.000Z",
              nextAttemptAt: "2026-11-20T09:01:20.000Z",
              expiresAt: "2026-11-21T09:00:00.000Z",
            },
          ],
          nextCursor: null,
        },
      },
    },
    run: ({ ctx, query }) => listEmails(ctx, query),
  }),

  removeQueuedEmail: operation({
    id: "removeQueuedEmail",
    summary: "Remove an email from the queue",
    description: "Removes an email from the queue. It is not sent, unless a process is sending it just now.",
    role: "admin",
    stepUp: true,
    scope: "mail:write",
    idempotency: "replay",
    params: EmailParams,
    errors: ["not_found"],
    response: { description: "The email is removed.", schema: null },
    run: ({ ctx, operator, params }) => removeEmail(ctx, operator, params.emailId),
    form: { after: () => ({ done: "removed" }) },
  }),

  retryQueuedEmails: operation({
    id: "retryQueuedEmails",
    summary: "Send queued emails at once",
    description: "Sends emails that wait for another attempt at once: those with the given ids, or all.",
    role: "admin",
    stepUp: true,
    scope: "mail:write",
    idempotency: "replay",
    body: EmailRetry,
    maxBodyBytes: MAX_BODY_BYTES,
    examples: { All: {}, "One email": { ids: ["019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b14"] } },
    response: {
      description: "How many are due now.",
      schema: EmailRetryResult,
      examples: { "Two emails": { retried: 2 } },
    },
    run: ({ ctx, operator, body }) => retryEmails(ctx, operator, body),
    form: { after: () => ({ done: "retried" }) },
  }),
};
