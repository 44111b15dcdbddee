import type { Context } from "../../context";
import { operation } from "../../operation";
import { RouteResponse } from "../http-message";
import { listAuditEvents, readEvents } from "./list-events";
import { AuditEntry, AuditFilter, AuditPage, AuditQuery } from "./schema";

const BATCH_SIZE = 1_000;
const COLUMNS = AuditEntry.keyof().options;
/**
 * Where a spreadsheet may see the start of a cell that is a formula (OWASP, "CSV Injection"): at the start of the text, and
 * after any character that another locale takes for the separator, the quote or the end of a line.
 */
const FORMULA = /(?<=^|[,;|"'\t\r\n])(?= *[=+\-@\uff1d\uff0b\uff0d\uff20])|^(?=[\t\r\n])/g;

/** The events of a filter as CSV (RFC 4180), newest first. Reads as fast as the client does, in batches. */
async function* auditCsv({ config, db, log }: Pick<Context, "config" | "db" | "log">, filter: AuditFilter) {
  yield Buffer.from(toLine(COLUMNS));
  try {
    for (let last: AuditEntry | undefined; ; ) {
      const events = await readEvents({ config, db }, filter, last ?? null, BATCH_SIZE);
      last = events.at(-1);
      if (!last) return;
      yield Buffer.from(events.map((event) => toLine(COLUMNS.map((column) => toText(event[column])))).join(""));
    }
  } catch (error) {
    log.warn({ err: error }, "an export of the audit trail was broken off");
    throw error;
  }
}

function toText(value: AuditEntry[keyof AuditEntry]): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString();
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A line of cells in quotes. An apostrophe makes a spreadsheet show a formula as text. */
function toLine(cells: readonly string[]): string {
  return `${cells.map((text) => `"${text.replace(FORMULA, "'").replaceAll('"', '""')}"`).join(",")}\r\n`;
}

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
