import { type ListedSubscription, listActiveSubscriptions } from "@/lib/admin/billing/list-subscriptions";
import { withReadDb } from "@/lib/context";
import { PageQuery } from "@/lib/lists/pages";
import { PageHead, Section } from "../../../components/headings";
import { EmptyState } from "../../../components/states";
import { Ago } from "../../../components/time";
import { consolePage } from "../../../frame/console-page";
import { Pager } from "../../../lists/pager";
import { type Column, Table } from "../../../lists/table";

export const metadata = { title: "Active subscriptions" };

const COLUMNS: Column<ListedSubscription>[] = [
  {
    head: "Product",
    isRowHead: true,
    cell: ({ id, productId }) => <a href={`/console/billing/purchases/${id}`}>{productId ?? "Unknown product"}</a>,
  },
  { head: "Store", cell: ({ store }) => store.toLowerCase() },
  {
    head: "Account",
    cell: ({ accountId }) => accountId && <a href={`/console/accounts/${accountId}`}>{accountId.slice(-8)}</a>,
  },
  { head: "Started", isTight: true, cell: ({ startedAt }) => <Ago at={startedAt} /> },
  { head: "Period ends", isTight: true, cell: ({ currentPeriodEndsAt }) => <Ago at={currentPeriodEndsAt} /> },
];

export default consolePage({ query: PageQuery }, async ({ ctx, query }) => {
  const { subscriptions, nextCursor } = await listActiveSubscriptions(withReadDb(ctx), query);
  return (
    <>
      <PageHead
        title="Active subscriptions"
        parent={{ href: "/console/billing", label: "Billing" }}
        lead="Subscriptions in production that give access now. The overview counts them."
      />
      <Section title="Subscriptions">
        <Table
          caption="Active subscriptions, the newest first"
          columns={COLUMNS}
          rows={subscriptions}
          rowKey={({ id }) => id}
          empty={
            nextCursor === null ? (
              <EmptyState title="No subscription is active" />
            ) : (
              <EmptyState title="None among the newest purchases">
                The next page continues the search with older ones.
              </EmptyState>
            )
          }
        />
        <Pager nextCursor={nextCursor} />
      </Section>
    </>
  );
});
