import { operation } from "../../operation";
import { RouteResponse } from "../http-message";
import { auditCsv } from "./csv";
import { listAuditEvents } from "./list-events";
import { AuditFilter, AuditPage, AuditQuery } from "./schema";

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

export const auditOperations = {
  listAuditEvents: operation({
    id: "listAuditEvents",
    summary: "List the audit trail",
    description:
      "Lists events, newest first. Filters can be combined. Events are kept for a year. Those of deleted accounts have no network, user agent or details.",
    role: "admin",
    scope: "audit:read",
    query: AuditQuery,
    response: {
      description: "A page of events.",
      schema: AuditPage,
      examples: { "One event": { events: [EVENT], nextCursor: null } },
    },
    run: ({ ctx, query }) => listAuditEvents(ctx, query),
  }),

  downloadAuditEvents: operation({
    id: "downloadAuditEvents",
    summary: "Download the audit trail as CSV",
    description:
      "Streams the events that match the filters, newest first, with a header row (RFC 4180). A cell that a spreadsheet would run as a formula begins with an apostrophe. A broken connection means that rows are missing.",
    role: "admin",
    scope: "audit:read",
    query: AuditFilter,
    writes: "raw",
    response: {
      status: 200,
      description: "The events.",
      schema: null,
      headers: ["Content-Disposition"],
      content: { "text/csv": { schema: { type: "string" } } },
    },
    run: ({ ctx, query }) =>
      new RouteResponse(200, auditCsv(ctx, query), {
        "Content-Type": "text/csv; charset=utf-8; header=present",
        "Content-Disposition": `attachment; filename="audit-${ctx.now().toISOString().slice(0, 10)}.csv"`,
      }),
  }),
};
