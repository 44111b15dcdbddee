import { CREDENTIALS, SIGNED_IN } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

const newPassword = "a better horse battery staple";

export const POST: OperationDetails = {
  operationId: "changePassword",
  description:
    "Changes the password. Requires the current password in `password`; an account without one sets its first password after a recent authentication. Ends all other sessions and their devices, and emails the owner. The bearer token of the request ends too: the response has its successor, and a cookie is replaced. With `keepOtherSessions` nothing ends.",
  requests: {
    "With the current password": { password: CREDENTIALS.password, newPassword },
    "Other sessions stay": { password: CREDENTIALS.password, newPassword, keepOtherSessions: true },
    "The first password": { newPassword },
  },
  responses: {
    200: {
      description: "The password was changed.",
      headers: ["Set-Cookie"],
      examples: {
        "With a bearer token": {
          status: "password_changed",
          token: SIGNED_IN["With a token"].token,
          tokenType: "Bearer",
        },
        "With a cookie, or other sessions kept": { status: "password_changed" },
      },
    },
  },
};
