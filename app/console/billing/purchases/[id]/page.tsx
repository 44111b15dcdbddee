import { PageQuery } from "@/lib/platform/lists";
import { readPurchaseTimeline } from "@/lib/subscriptions/admin/purchase-timeline";
import { BillingIdParams, type PurchaseTimeline } from "@/lib/subscriptions/admin/schema";
import { AccountLink } from "../../../components/cells";
import { Facts } from "../../../components/facts";
import { PageHead, Section } from "../../../components/headings";
import { type Column, List, Pager } from "../../../components/table";
import { ExactTime } from "../../../components/time";
import { consolePage, parseId, titleOf } from "../../../frame/console-page";
import { describeAccess } from "../../access";
import { PurchaseActions } from "./purchase-actions";
import { PurchaseState } from "./purchase-state";
import { Timeline } from "./timeline";

export const generateMetadata = titleOf("Billing", async ({ ctx, params }) => {
  const { purchase } = await readPurchaseTimeline(ctx, parseId(BillingIdParams, params).id, { limit: 1 });
  return purchase.productId ?? "Purchase";
});

const OWNER_COLUMNS: Column<PurchaseTimeline["owners"][number]>[] = [
  { head: "Event", isRowHead: true, cell: ({ event }) => event.type },
  { head: "At", cell: ({ event }) => <ExactTime at={event.occurredAt} /> },
  { head: "App User IDs", cell: ({ appUserIds }) => <span className="ids">{appUserIds.join(", ")}</span> },
  { head: "Account", cell: AccountLink },
];

export default consolePage(
  {
    query: PageQuery,
    done: {
      assigned: "The account has the customer’s purchases.",
      assigned_before: "The account already has these purchases.",
      reconciled: "The provider was asked, and the purchase is as it says.",
      reconcile_failed: "The provider could not be asked about every App User ID. Try again later.",
    },
  },
  async ({ ctx, params, query }) => {
    const { id } = parseId(BillingIdParams, params);
    const timeline = await readPurchaseTimeline(ctx, id, query);
    const { purchase, status, owners, nextCursor, isCurrent } = timeline;
    return (
      <>
        <PageHead
          title={purchase.productId ?? "Purchase"}
          aside={<PurchaseState status={status.status} />}
          parent={{ href: "/console/billing", label: "Billing" }}
          lead={describeAccess(status)}
          actions={<PurchaseActions ctx={ctx} purchase={purchase} />}
        />
        {!isCurrent && (
          <p className="notice error">
            The stored state is not what this version’s rules make of the events. Replay one of them.
          </p>
        )}
        <Section title="Purchase">
          <Facts entries={factsOf(timeline)} />
        </Section>
        <List
          title="Owner"
          lead="The events that named the customer, or moved the purchase, newest first."
          caption="The purchase's owners, the newest first"
          columns={OWNER_COLUMNS}
          rows={changesOfOwner(owners)}
          rowKey={({ event }) => event.eventId}
          empty="No event names a customer"
        />
        <Section
          title="Timeline"
          lead="The events in the order in which they count, newest first. Each shows what it changed, and the state that it left."
        >
          <Timeline steps={timeline.steps} />
          <Pager nextCursor={nextCursor} />
        </Section>
      </>
    );
  },
);

/** Without the events that name the same owner as the one before. */
function changesOfOwner(owners: PurchaseTimeline["owners"]): PurchaseTimeline["owners"] {
  return owners.filter(({ appUserIds, accountId }, i) => {
    const before = owners[i + 1];
    return !before || before.accountId !== accountId || before.appUserIds.join() !== appUserIds.join();
  });
}

function commitmentFacts({ billingPlanType, commitment }: PurchaseTimeline["status"]) {
  if (!commitment) return billingPlanType === null ? [] : ([["Billing plan", billingPlanType]] as const);
  const { billingPeriodNumber, totalBillingPeriods, priceMilliunits, currency, expiresAt, willRenew } = commitment;
  const price = priceMilliunits === null ? "" : `, ${(priceMilliunits / 1000).toFixed(2)} ${currency ?? ""} in all`;
  return [
    ["Billing plan", billingPlanType],
    ["Commitment", `period ${billingPeriodNumber} of ${totalBillingPeriods}${price}`],
    ["Commitment ends", <ExactTime key="commitment" at={expiresAt} />],
    ["Another commitment follows", willRenew === null ? "not known" : willRenew ? "yes" : "no"],
  ] as const;
}

function refundFacts({ revocationType, revocationPercentage }: PurchaseTimeline["status"]) {
  if (revocationType === null) return [];
  return [
    ["Refund", [revocationType, revocationPercentage && `${revocationPercentage} %`].filter(Boolean).join(", ")],
  ] as const;
}

function factsOf({ purchase, status }: PurchaseTimeline) {
  return [
    ["Account", purchase.accountId && <AccountLink key="account" {...purchase} />],
    ["Store", `${purchase.store}, ${purchase.environment}`],
    ["Original transaction", purchase.originalTransactionId],
    ["Entitlements", purchase.entitlementIds.join(", ")],
    ["Period", purchase.periodType ?? "One-time purchase"],
    ["Started", <ExactTime key="started" at={purchase.startedAt} />],
    ["Period ends", purchase.isLifetime ? "Never" : <ExactTime key="ends" at={purchase.currentPeriodEndsAt} />],
    ["Access ends", <ExactTime key="access" at={status.accessEndsAt} />],
    ["Renews", status.willRenew ? "yes" : "no"],
    ...commitmentFacts(status),
    ...refundFacts(status),
    ["Last compared with the provider", <ExactTime key="reconciled" at={purchase.reconciledAt} />],
  ] as const;
}
