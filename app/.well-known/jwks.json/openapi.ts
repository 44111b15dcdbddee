import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "getJsonWebKeySet",
  description:
    "The keys that verify the tokens of `/api/subscription/token` (RFC 7517). A key is listed a day before it signs, and until the last token that it signed has expired.",
  responses: {
    200: {
      description: "The keys. May be cached for an hour.",
      examples: {
        "One key": {
          keys: [
            {
              kty: "OKP",
              crv: "Ed25519",
              alg: "EdDSA",
              use: "sig",
              kid: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
              x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
            },
          ],
        },
      },
    },
  },
};
