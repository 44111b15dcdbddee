import { operation } from "../../operation";
import { RouteResponse } from "../http-message";
import { JsonWebKeySet, publishedKeys } from "./signing-keys";

export const keySetOperations = {
  getJsonWebKeySet: operation({
    id: "getJsonWebKeySet",
    summary: "List the public keys of entitlement tokens",
    description:
      "The keys that verify the tokens of `/api/subscription/token` (RFC 7517). A key is listed a day before it signs, and until the last token that it signed has expired.",
    response: {
      description: "The keys. May be cached for an hour.",
      schema: JsonWebKeySet,
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
    run: async ({ ctx }) =>
      new RouteResponse(200, await publishedKeys(ctx), { "Cache-Control": "public, max-age=3600" }),
  }),
};
