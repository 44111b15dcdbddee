import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "resendVerification",
  description:
    "Emails a link that verifies the email within a day. The response is the same for unverified, verified and unknown emails, and after the limit of three emails per hour and client network is reached. In that case the latest link still works.",
  requests: { "An email": { email: "ann@example.com" } },
  responses: {
    202: {
      description: "If an account waits for the verification of this email, an email is sent.",
      examples: { Accepted: { status: "accepted" } },
    },
  },
};
