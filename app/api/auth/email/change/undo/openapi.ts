import { USER } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "undoEmailChange",
  description:
    "Restores the old email with the token of the link that it got, without a session. Ends every session, revokes all emailed links, and removes the password, and the providers and factors that were added since the change was requested. The old email gets a link to set a new password. `identities` lists the providers that can still sign in to the account; show them to its owner.",
  requests: { "The link's token": { token: "q0Zb6c1mSx3uY8rT2wVhKfDgLpN4aEoJ" } },
  responses: {
    200: {
      description: "The old email was restored.",
      examples: {
        "Email restored": {
          status: "email_restored",
          identities: [{ provider: "google", linkedAt: USER.createdAt }],
        },
      },
    },
  },
};
