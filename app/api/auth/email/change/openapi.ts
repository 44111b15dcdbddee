import { CREDENTIALS, PENDING_EMAIL } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "requestEmailChange",
  description:
    "Emails a link to the new email that confirms the change within 24 hours. A verified old email gets a link that undoes the change, until 7 days after its confirmation. Requires a recent authentication. Replaces a pending change. The response is the same whether or not the new email has an account; in that case its owner gets a notice instead.",
  requests: {
    "With the password": { email: PENDING_EMAIL.email, password: CREDENTIALS.password },
    "After a recent authentication": { email: PENDING_EMAIL.email },
  },
  responses: {
    202: {
      description: "The email changes when its owner follows the link.",
      examples: { "An email was sent": { status: "confirmation_required", pending: PENDING_EMAIL } },
    },
  },
};
