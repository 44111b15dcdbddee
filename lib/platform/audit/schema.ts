import { z } from "zod";
import { NextCursor, PageQuery } from "../lists";
import { isStorableTime, NOT_STORABLE, StorableText } from "../storable";
import { type AuditEventType, EVENT_LABELS } from "./event-types";

const text = StorableText.max(256);
const time = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], "Must be a date or a time such as 2026-11-22T09:00:00Z")
  .transform((given) => new Date(given))
  .refine(isStorableTime, NOT_STORABLE);

/** Which events of the audit trail to return. */
export const AuditFilter = z.object({
  type: z
    .enum(Object.keys(EVENT_LABELS) as [AuditEventType, ...AuditEventType[]])
    .optional()
    .describe("What happened."),
  actor: text
    .optional()
    .meta({ description: "Who acted.", examples: ["operator:ann", "key:019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11"] }),
  target: text
    .optional()
    .meta({ description: "What was acted on.", examples: ["key:019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11"] }),
  account: z
    .uuid()
    .toLowerCase()
    .optional()
    .describe("The id of the account that acted or was acted on, also after its deletion."),
  from: time.optional().describe("Events at this time or later. A date is its midnight in UTC."),
  to: time.optional().describe("Events before this time."),
});
export type AuditFilter = z.infer<typeof AuditFilter>;

export const AuditQuery = AuditFilter.extend(PageQuery.shape);
export type AuditQuery = z.infer<typeof AuditQuery>;

export const AuditEntry = z.object({
  id: z.uuid(),
  at: z.date(),
  type: z.string(),
  actor: z
    .string()
    .describe(
      "`account`, the one in `accountId`; another account, `account:ID`; `operator`, `operator:NAME`, `key:ID`, `publisher:ID` or `service`.",
    ),
  accountId: z.uuid().nullable().describe("After its deletion, the account's pseudonym."),
  email: z.string().nullable().describe("The account's email now. null: there is no account, or it was deleted."),
  target: z.string().nullable(),
  network: z.string().nullable().describe("The client's IP address, truncated to /24 (IPv4) or /64 (IPv6)."),
  userAgent: z.string().nullable(),
  details: z.unknown(),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

export const AuditPage = z.object({ events: z.array(AuditEntry), nextCursor: NextCursor });
export type AuditPage = z.infer<typeof AuditPage>;

/** Why an operator makes a change. The audit event keeps it. */
export const Reason = StorableText.trim()
  .min(1)
  .max(500)
  .meta({ description: "Why, for the audit trail.", examples: ["Asked for by email, ticket 4711"] });
