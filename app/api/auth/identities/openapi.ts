import { USER } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "listIdentities",
  description: "Lists the providers that can sign in to the account, oldest first.",
  responses: {
    200: {
      description: "The linked providers.",
      examples: {
        "One provider": {
          identities: [{ id: "0198d2f4-3c2b-7d40-8a55-2e9c1f7b6d32", provider: "google", linkedAt: USER.createdAt }],
        },
      },
    },
  },
};
