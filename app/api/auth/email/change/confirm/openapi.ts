import { USER } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "confirmEmailChange",
  description:
    "Changes the email with the token of the link that the new email got. The session must belong to the account that requested the change. The new email is verified. Password reset links that the old email got no longer work.",
  requests: { "The link's token": { token: "q0Zb6c1mSx3uY8rT2wVhKfDgLpN4aEoJ" } },
  responses: {
    200: {
      description: "The email was changed.",
      examples: {
        "The account": {
          status: "email_changed",
          user: { ...USER, email: "ann@example.org", emailVerified: true },
        },
      },
    },
  },
};
