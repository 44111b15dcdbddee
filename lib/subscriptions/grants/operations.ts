import { z } from "zod";
import { operation } from "../../operation";
import { Reason } from "../../platform/audit/schema";
import { endGrant, grantEntitlement, grantToEmails, listGrants } from "./grants";
import { BatchGrant, BatchGrantResults, GrantChange, GrantForm, Grants, GrantsQuery, NewGrant } from "./schema";

const CHANGE = { stepUp: true, scope: "billing:write", idempotency: "replay" } as const;

const GrantParams = z.object({ id: z.uuid().toLowerCase() });
const WithReason = z.object({ reason: Reason.optional() });

const ACCOUNT_ID = "019aa5f0-9a51-7c09-8d3e-1b9e4f0a2c77";
const REASON = "Waited a week for a reply, ticket 4711";
const GRANT = {
  id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
  accountId: ACCOUNT_ID,
  entitlementId: "pro",
  isActive: true,
  endsAt: "2026-12-20T09:00:00.000Z",
  granted: {
    actor: "account:019aa5f0-0a1b-7c2d-8e3f-405162738495",
    name: "support@example.com",
    at: "2026-11-20T09:00:00.000Z",
    reason: REASON,
  },
  ended: null,
};

export const grantOperations = {
  grantEntitlement: operation({
    id: "grantEntitlement",
    summary: "Grant an entitlement to an account",
    description:
      "Gives an account an entitlement without a purchase at a store. The grant is a purchase in the store `PROMOTIONAL` that never renews, and counts like any other: beside a paid purchase, the later end counts. Support may grant 30 days, an admin or an API key any time. It stores an event of type `GRANT`.",
    ...CHANGE,
    role: "support",
    body: NewGrant,
    errors: ["not_found", "entitlement_unknown", "grant_too_long"],
    examples: { "For 30 days": { accountId: ACCOUNT_ID, entitlementId: "pro", days: 30, reason: REASON } },
    response: {
      description: "The grant.",
      schema: GrantChange,
      examples: { Granted: { grant: GRANT, isChanged: true } },
    },
    run: ({ ctx, operator, principal, body, changeId }) =>
      grantEntitlement(ctx, { operator, principal }, { ...body, key: body.key ?? changeId }),
    form: {
      fields: GrantForm,
      toInput: ({ term, until, ...grant }) => {
        if (term === "lifetime") return { body: { ...grant, isLifetime: true as const } };
        return { body: { ...grant, ...(term === "until" ? { until } : { days: Number(term) }) } };
      },
      kept: ["entitlementId", "term", "until", "reason"],
      errors: { entitlement_unknown: { field: "entitlementId" }, grant_too_long: { field: "term" } },
      after: () => ({ done: "granted" }),
    },
  }),

  grantEntitlements: operation({
    id: "grantEntitlements",
    summary: "Grant an entitlement to many accounts",
    description:
      "Grants an entitlement to the accounts with these emails, 200 at most, such as for a beta test. An account gets the same entitlement for the same time and reason once, however often the request is sent, also after that grant has ended.",
    ...CHANGE,
    role: "admin",
    body: BatchGrant,
    errors: ["entitlement_unknown"],
    examples: {
      "What would be granted": {
        emails: ["ann@example.com", "bob@example.com"],
        entitlementId: "beta",
        until: "2026-12-31T00:00:00Z",
        reason: "Beta test of 3.0",
        isDryRun: true,
      },
    },
    response: {
      description: "What happened for each email.",
      schema: BatchGrantResults,
      examples: {
        "An account, and an email without one": {
          results: [
            { email: "ann@example.com", status: "granted" },
            { email: "bob@example.com", status: "unknown_account" },
          ],
        },
      },
    },
    run: ({ ctx, operator, principal, body }) => grantToEmails(ctx, { operator, principal }, body),
  }),

  listGrants: operation({
    id: "listGrants",
    summary: "List the grants to an account",
    description:
      "Lists the entitlements that operators granted to an account, newest first, with who granted and ended them and why.",
    role: "support",
    scope: "billing:read",
    query: GrantsQuery,
    errors: ["not_found"],
    response: {
      description: "A page of grants.",
      schema: Grants,
      examples: { "One grant": { grants: [GRANT], nextCursor: null } },
    },
    run: ({ ctx, query }) => listGrants(ctx, query),
  }),

  endGrant: operation({
    id: "endGrant",
    summary: "End a grant",
    description:
      "Ends a grant now. Other purchases of the account stay. Support may end what it may grant. It stores an event of type `GRANT_ENDED`. Repeating the request changes nothing.",
    ...CHANGE,
    role: "support",
    params: GrantParams,
    query: WithReason,
    errors: ["not_found", "grant_too_long"],
    response: {
      description: "The grant, which has ended.",
      schema: GrantChange,
      examples: {
        Ended: {
          grant: {
            ...GRANT,
            isActive: false,
            endsAt: "2026-11-22T14:03:00.000Z",
            ended: { actor: "operator:ann", name: null, at: "2026-11-22T14:03:00.000Z", reason: "Granted by mistake" },
          },
          isChanged: true,
        },
      },
    },
    run: ({ ctx, operator, principal, params, query }) => endGrant(ctx, { operator, principal }, params.id, query),
    form: { fields: GrantParams.extend({ reason: Reason }), after: () => ({ done: "grant_ended" }) },
  }),
};
