import type { OperationDetails } from "@/scripts/openapi/operation";

export const DELETE: OperationDetails = {
  operationId: "removeQueuedEmail",
  description: "Removes an email from the queue. It is not sent, unless a process is sending it just now.",
  responses: { 204: { description: "The email is removed." } },
};
