import type { OperationDetails } from "@/scripts/openapi/operation";

const EVENT = {
  id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
  at: "2026-11-22T09:00:00.000Z",
  type: "role_changed",
  actor: "operator:ann",
  accountId: "019aa5f0-1111-7b60-9d2f-3a1f0c5e8b11",
  email: "bob@example.com",
  target: null,
  network: null,
  userAgent: null,
  details: { from: "user", to: "support" },
};

export const GET: OperationDetails = {
  operationId: "listAuditEvents",
  description:
    "Lists events, newest first. Filters can be combined. Events are kept for a year. Those of deleted accounts have no network, user agent or details.",
  responses: {
    200: { description: "A page of events.", examples: { "One event": { events: [EVENT], nextCursor: null } } },
  },
};
