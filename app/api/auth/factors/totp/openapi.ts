import { CREDENTIALS } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

const STEP_UP =
  "Requires a sign-in within the last ten minutes, with the second factor if there is one, or a proof in the body.";

export const POST: OperationDetails = {
  operationId: "startTotp",
  description: `${STEP_UP} The secret has no effect until its first code is confirmed, within ten minutes.`,
  requests: { "After a recent sign-in": {}, "With a password": { password: CREDENTIALS.password } },
  responses: {
    201: {
      description: "The secret, to be shown to its user only.",
      examples: {
        "A secret": {
          id: "0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10",
          secret: "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
          uri: "otpauth://totp/app.example.com:ann%40example.com?issuer=app.example.com&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&algorithm=SHA1&digits=6&period=30",
          qrCode: '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 57 57">…</svg>',
          expiresAt: "2026-11-20T09:10:00.000Z",
        },
      },
    },
  },
};

export const DELETE: OperationDetails = {
  operationId: "removeTotp",
  description: `${STEP_UP} The recovery codes stop working, too. Emails the owner.`,
  requests: { "After a recent sign-in": {}, "With a code": { code: "492039" } },
  responses: { 204: { description: "Sign-ins no longer need a second factor." } },
};
