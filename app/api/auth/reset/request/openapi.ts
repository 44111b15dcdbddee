import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "requestPasswordReset",
  description:
    "Mails a link that sets a new password, once, within 30 minutes. The answer is the same whether the address has an account or not, and where it has had its share of mails: three an hour for each client network. The link in the latest mail works then.",
  requests: { "An address": { email: "ann@example.com" } },
  responses: {
    202: {
      description: "If there is such an account, the mail is on its way.",
      examples: { Accepted: { status: "accepted" } },
    },
  },
};
