import { cache } from "react";
import { readGuideRow } from "@/lib/platform/guides";
import type { BillingEventState, BillingEventSummary } from "@/lib/subscriptions/admin/schema";
import { IdentityEventType, PurchaseEventType } from "@/lib/subscriptions/events";
import { AccountLink, Badge, type Tone } from "../components/cells";
import type { Column } from "../components/table";
import { Ago } from "../components/time";

const TONES: Record<BillingEventState, Tone> = {
  processed: "good",
  received: "warning",
  failed: "bad",
  ignored: "neutral",
};

/** The types that change a purchase or its owner, as a filter has them. */
export const EVENT_TYPES: Record<string, string> = Object.fromEntries(
  [...PurchaseEventType.options, ...IdentityEventType.options].map((type) => [type, type]),
);

export function EventState({ state }: Pick<BillingEventSummary, "state">) {
  return <Badge tone={TONES[state]}>{state}</Badge>;
}

/** "app_store", and "app_store, sandbox" for tests. */
function describeStore({ store, environment }: BillingEventSummary): string {
  return [store, environment !== "PRODUCTION" && environment].filter(Boolean).join(", ").toLowerCase();
}

export const EVENT_COLUMNS: Column<BillingEventSummary>[] = [
  { head: "Type", isRowHead: true, cell: ({ id, type }) => <a href={`/console/billing/events/${id}`}>{type}</a> },
  { head: "State", cell: (event) => <EventState {...event} /> },
  { head: "Received", isTight: true, cell: ({ receivedAt }) => <Ago at={receivedAt} /> },
  { head: "Store", cell: describeStore },
  { head: "Account", cell: AccountLink },
  {
    head: "Purchase",
    cell: ({ purchaseId }) =>
      purchaseId && <a href={`/console/billing/purchases/${purchaseId}`}>{purchaseId.slice(-8)}</a>,
  },
  { head: "Reason", cell: ({ reason }) => reason },
];

/** What an event's reason means and what to do, as the billing guide says; the code itself if the guide does not have it. */
export const describeReason = cache(async (reason: string): Promise<string> => {
  const [meaning = reason, advice = ""] = await readGuideRow("billing", reason);
  return `${meaning} ${advice.replace(/^Nothing\b/, "There is nothing to do")}`.replaceAll("`", "").trim();
});

/** The meaning of an event's reason in a list. */
export async function EventReason({ reason }: { reason: string | null }) {
  return reason && <span title={reason}>{await describeReason(reason)}</span>;
}
