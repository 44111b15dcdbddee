import {
  type ListedSubscription,
  listActiveSubscriptions,
  SubscriptionsQuery,
} from "@/lib/subscriptions/admin/list-subscriptions";
import { AccountLink } from "../../components/cells";
import { Filters, InputFilter } from "../../components/filters";
import { PageHead } from "../../components/headings";
import { EmptyState, NoneYet } from "../../components/states";
import { type Column, List } from "../../components/table";
import { Ago } from "../../components/time";
import { NO_SUCH_ACCOUNT, noSuchAccount } from "../../components/unknown-account";
import { consolePage } from "../../frame/console-page";

export const metadata = { title: "Active subscriptions" };

const COLUMNS: Column<ListedSubscription>[] = [
  {
    head: "Product",
    isRowHead: true,
    cell: ({ id, productId }) => <a href={`/console/billing/purchases/${id}`}>{productId ?? "Unknown product"}</a>,
  },
  { head: "Store", cell: ({ store }) => store.toLowerCase() },
  { head: "Account", cell: AccountLink },
  { head: "Started", isTight: true, cell: ({ startedAt }) => <Ago at={startedAt} /> },
  { head: "Period ends", isTight: true, cell: ({ currentPeriodEndsAt }) => <Ago at={currentPeriodEndsAt} /> },
];

export default consolePage({ query: SubscriptionsQuery }, async ({ ctx, query }) => {
  const found = await listActiveSubscriptions(ctx, query).catch(noSuchAccount);
  const { subscriptions, nextCursor } = found ?? { subscriptions: [], nextCursor: null };
  return (
    <>
      <PageHead
        title="Active subscriptions"
        parent={{ href: "/console/billing", label: "Billing" }}
        lead="Subscriptions in production that are active now, also those to products without entitlements. The overview counts them."
      />
      <List
        title="Subscriptions"
        caption="Active subscriptions, the newest first"
        columns={COLUMNS}
        rows={subscriptions}
        empty={
          nextCursor === null ? (
            <EmptyState title={found ? "No subscription is active" : NO_SUCH_ACCOUNT} />
          ) : (
            <NoneYet of="purchases" />
          )
        }
        nextCursor={nextCursor}
      >
        <Filters>
          <InputFilter name="account" label="Account" value={query.account} hint="Email or ID" />
        </Filters>
      </List>
    </>
  );
});
