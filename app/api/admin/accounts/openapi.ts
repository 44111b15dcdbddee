import { ACCOUNT } from "@/app/api/admin/accounts/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "searchAccounts",
  description:
    "Lists accounts, newest first. With `query`, lists the account with that id first, then those whose email, name or a later word of the name begins with it, in alphabetical order. A cursor is valid with the same filters only.",
  responses: {
    200: {
      description: "A page of accounts.",
      examples: { "One account": { accounts: [ACCOUNT], nextCursor: null } },
    },
  },
};
