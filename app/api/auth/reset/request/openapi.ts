import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "requestPasswordReset",
  description:
    "Emails a link that sets a new password once within 30 minutes. The response is the same for known and unknown emails, and after the limit of three emails per hour and client network is reached. In that case the latest link still works.",
  requests: { "An email": { email: "ann@example.com" } },
  responses: {
    202: {
      description: "If the account exists, an email is sent.",
      examples: { Accepted: { status: "accepted" } },
    },
  },
};
