import { PENDING_EMAIL } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "getEmailChange",
  description: "Returns the change that waits for its confirmation; null if there is none.",
  responses: {
    200: {
      description: "The pending change.",
      examples: { Pending: { pending: PENDING_EMAIL }, None: { pending: null } },
    },
  },
};

export const DELETE: OperationDetails = {
  operationId: "cancelEmailChange",
  description: "Revokes the link that would confirm the change. Safe to call twice.",
  responses: { 204: { description: "No change is pending." } },
};
