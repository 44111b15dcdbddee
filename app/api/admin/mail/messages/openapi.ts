import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "listQueuedEmails",
  description:
    "Lists the emails that are not sent yet, without their texts, which contain links that sign people in. An email leaves the queue when the mail server accepts it, rejects it for good, or when it expires.",
  responses: {
    200: {
      description: "A page of emails.",
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
  },
};
