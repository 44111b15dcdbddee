import { EVENT } from "@/app/api/admin/accounts/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "listAccountEvents",
  description:
    "Lists events, newest first: what its owner did, and what operators did to it. Works after the account was deleted, too, with its former id.",
  responses: {
    200: { description: "A page of events.", examples: { "One event": { events: [EVENT], nextCursor: null } } },
  },
};
