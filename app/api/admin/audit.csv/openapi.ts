import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "downloadAuditEvents",
  description:
    "Streams the events that match the filters, newest first, with a header row (RFC 4180). A cell that a spreadsheet would run as a formula begins with an apostrophe. A broken connection means that rows are missing.",
  responses: {
    200: {
      description: "The events.",
      headers: ["Content-Disposition"],
      content: { "text/csv": { schema: { type: "string" } } },
    },
  },
};
