import { USER } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "confirmPasswordReset",
  description:
    "Sets a new password with the token of the emailed link. Ends every session of the account and does not start a new one. `identities` lists the providers that can still sign in to the account; show them to its owner. A rejected password does not use up the token.",
  requests: {
    "The link's token": { token: "q0Zb6c1mSx3uY8rT2wVhKfDgLpN4aEoJ", password: "a better horse battery staple" },
  },
  responses: {
    200: {
      description: "The password was changed.",
      examples: {
        "Password changed": {
          status: "password_reset",
          identities: [{ provider: "google", linkedAt: USER.createdAt }],
        },
      },
    },
  },
};
