import { USER } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "confirmPasswordReset",
  description:
    "Takes the token of the mailed link. Ends every session of the account, and does not sign in. `identities` are the providers that still sign in to the account: show them to its owner. A password that is refused leaves the token as it is.",
  requests: {
    "The link's token": { token: "q0Zb6c1mSx3uY8rT2wVhKfDgLpN4aEoJ", password: "a better horse battery staple" },
  },
  responses: {
    200: {
      description: "The new password counts.",
      examples: {
        Done: { status: "password_reset", identities: [{ provider: "google", linkedAt: USER.createdAt }] },
      },
    },
  },
};
