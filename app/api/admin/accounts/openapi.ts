import { ACCOUNT } from "@/app/api/admin/accounts/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "searchAccounts",
  description:
    "Lists the newest account first. With `query`, lists the accounts with that id first, then those whose email or name begins with it, in alphabetical order; of a name also its later words. A cursor is valid with the same filters only.",
  responses: {
    200: {
      description: "A page of accounts.",
      examples: { "One account": { accounts: [ACCOUNT], nextCursor: null } },
    },
  },
};
