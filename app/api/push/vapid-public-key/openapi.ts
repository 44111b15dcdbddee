import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "getVapidPublicKey",
  description:
    "Returns the public key of RFC 8292. Pass it to `PushManager.subscribe` as `applicationServerKey`. It changes only if the operator changes it: then unsubscribe and subscribe again.",
  responses: {
    200: {
      description: "The key.",
      examples: {
        Key: {
          publicKey: "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM",
        },
      },
    },
  },
};
