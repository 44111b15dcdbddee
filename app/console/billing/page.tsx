import { AccountName } from "@/lib/platform/find-account";
import { listBillingProducts } from "@/lib/subscriptions/admin/billing-products";
import { countPendingEvents, listBillingEvents } from "@/lib/subscriptions/admin/list-events";
import { countExpired } from "@/lib/subscriptions/admin/prune-payloads";
import { countPurchases, listProviderStates } from "@/lib/subscriptions/admin/reconcile";
import { BillingEventsQuery } from "@/lib/subscriptions/admin/schema";
import { openSources } from "@/lib/subscriptions/sources/find-source";
import { Filters, FilterTime, InputFilter, SelectFilter, TimeFilter } from "../components/filters";
import { formatBounded } from "../components/format-numbers";
import { PageHead } from "../components/headings";
import { EmptyState, NoneYet } from "../components/states";
import { List } from "../components/table";
import { Tabs } from "../components/tabs";
import { NO_SUCH_ACCOUNT, noSuchAccount } from "../components/unknown-account";
import { consolePage } from "../frame/console-page";
import { BatchProgress, BatchQuery } from "./batch-progress";
import { EVENT_COLUMNS, EVENT_TYPES } from "./event-columns";
import { InboxActions } from "./inbox-actions";
import { Providers } from "./providers";

export const metadata = { title: "Billing" };

const FIRST_FAILURES = 10;

export default consolePage(
  {
    query: BillingEventsQuery.extend(BatchQuery.shape).extend({
      account: AccountName.optional(),
      receivedFrom: FilterTime.optional(),
      receivedBefore: FilterTime.optional(),
    }),
    done: { provider_waits: "The provider limits requests. Wait a minute, then continue." },
  },
  async ({ ctx, query: { batch, at, only, share, failures, ...query } }) => {
    const { state, unlinked, type, event, account, purchase, receivedFrom, receivedBefore } = query;
    const days = ctx.config.BILLING_PAYLOAD_RETENTION_DAYS;
    const isWhole = Object.values(query).every((value) => value === undefined);
    const [counts, purchases, expired, unmapped, providers] = await Promise.all([
      countPendingEvents(ctx),
      openSources(ctx).length > 0 ? countPurchases(ctx) : 0,
      days === undefined ? 0 : countExpired(ctx, days),
      listBillingProducts(ctx, { withoutEntitlement: "true" }),
      isWhole ? listProviderStates(ctx) : [],
    ]);
    const found = await listBillingEvents(ctx, query).catch(noSuchAccount);
    const { events, nextCursor } = found ?? { events: [], nextCursor: null };
    const isFailedFirst = isWhole && counts.failed > 0;
    const failed = isFailedFirst ? await listBillingEvents(ctx, { state: "failed", limit: FIRST_FAILURES }) : null;
    return (
      <>
        <PageHead
          title="Billing"
          lead="The events that the billing provider sent, and their outcome."
          actions={<InboxActions state={state} counts={{ ...counts, purchases, expired }} days={days} />}
        />
        <BatchProgress batch={batch} at={at} only={only} share={share} failures={failures} />
        <Tabs
          label="Events by state"
          tabs={tabsOf({ state, unlinked }, { ...counts, products: unmapped.products.length })}
        />
        {failed && (
          <List
            title="Failed"
            lead="These events could not be applied. Fix the cause, then replay them."
            caption="Failed events, the newest first"
            columns={EVENT_COLUMNS}
            rows={failed.events}
            empty={null}
          />
        )}
        <List
          title={state === undefined ? "Events" : STATE_TITLES[state]}
          caption="Billing events, the newest first"
          columns={EVENT_COLUMNS}
          rows={events}
          empty={
            nextCursor === null ? (
              <EmptyState title={found ? "No events" : NO_SUCH_ACCOUNT}>
                {isWhole ? (
                  <>
                    The provider has sent nothing yet. <a href="/console/settings/guides/billing">Connect it</a>
                  </>
                ) : (
                  "No event fits the filters."
                )}
              </EmptyState>
            ) : (
              <NoneYet of="events" />
            )
          }
          nextCursor={nextCursor}
        >
          <Filters>
            {state && <input type="hidden" name="state" value={state} />}
            {unlinked && <input type="hidden" name="unlinked" value={unlinked} />}
            <InputFilter name="event" label="Event ID" value={event} />
            <SelectFilter name="type" label="Type" value={type} options={EVENT_TYPES} />
            <InputFilter name="account" label="Account" value={account} hint="Email or ID" />
            <InputFilter name="purchase" label="Purchase" value={purchase} hint="ID or transaction" />
            <TimeFilter name="receivedFrom" label="Received from" value={receivedFrom} />
            <TimeFilter name="receivedBefore" label="Received before" value={receivedBefore} />
          </Filters>
        </List>
        <Providers providers={providers} />
      </>
    );
  },
);

const STATE_TITLES = {
  failed: "Failed events",
  received: "Pending events",
  processed: "Processed events",
  ignored: "Ignored events",
};

function tabsOf(
  { state, unlinked }: { state?: string | undefined; unlinked?: string | undefined },
  counts: { failed: number; received: number; products: number },
) {
  const href = "/console/billing";
  const tab = (label: string, value: string, number?: number) => ({
    href: `${href}?state=${value}`,
    label,
    isCurrent: state === value,
    ...(number === undefined ? {} : { count: formatBounded(number) }),
  });
  return [
    { href, label: "All", isCurrent: !state && unlinked !== "true" },
    tab("Failed", "failed", counts.failed),
    tab("Waiting", "received", counts.received),
    tab("Processed", "processed"),
    tab("Ignored", "ignored"),
    { href: `${href}?unlinked=true`, label: "Without an account", isCurrent: unlinked === "true" && !state },
    {
      href: `${href}/products?withoutEntitlement=true`,
      label: "Products without entitlements",
      isCurrent: false,
      count: formatBounded(counts.products),
    },
    { href: `${href}/purchases`, label: "Active subscriptions", isCurrent: false },
  ];
}
