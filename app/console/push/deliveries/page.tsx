import { listDeliveries } from "@/lib/push/admin/list-deliveries";
import { pushOperations } from "@/lib/push/admin/operations";
import { DeliveriesQuery } from "@/lib/push/admin/schema";
import { Action } from "../../components/action";
import { Filters, FilterTime, InputFilter, SelectFilter, TimeFilter } from "../../components/filters";
import { PageHead } from "../../components/headings";
import { EmptyState } from "../../components/states";
import { List } from "../../components/table";
import { unknownAccount } from "../../components/unknown-account";
import { consolePage } from "../../frame/console-page";
import { DELIVERY_COLUMNS } from "../delivery-columns";
import { PushTabs } from "../push-tabs";
import { STATE_LABELS } from "../status";

export const metadata = { title: "Deliveries" };

export default consolePage(
  {
    query: DeliveriesQuery.extend({ endedFrom: FilterTime.optional() }),
    queryFields: ["account"],
    done: { retried: "Failed notifications that have not expired are queued again." },
  },
  async ({ ctx, query }) => {
    const { deliveries, nextCursor } = await listDeliveries(ctx, query).catch(unknownAccount);
    return (
      <>
        <PageHead title="Deliveries" actions={<RetryAll />} />
        <PushTabs current="/console/push/deliveries" />
        <Filters>
          <SelectFilter name="state" label="State" value={query.state} options={STATE_LABELS} />
          <InputFilter name="reason" label="Reason" value={query.reason} hint="Unregistered" />
          <InputFilter name="account" label="Account" value={query.account} hint="Email or ID" />
          <TimeFilter name="endedFrom" label="Ended from" value={query.endedFrom} />
          {query.messageId && <input type="hidden" name="messageId" value={query.messageId} />}
        </Filters>
        <List
          title={query.messageId ? "Deliveries of the message" : "Deliveries"}
          caption="Deliveries of notifications to devices"
          columns={DELIVERY_COLUMNS}
          rows={deliveries}
          empty={<EmptyState title="No delivery fits">Deliveries that have ended are kept for 30 days.</EmptyState>}
          nextCursor={nextCursor}
        />
      </>
    );
  },
);

function RetryAll() {
  return (
    <Action
      operation={pushOperations.retryPushDeliveries}
      label="Retry all failed"
      title="Send all failed notifications again?"
      submit="Send again"
    >
      <p>
        Up to 100,000 failed notifications that have not expired are queued again, and pauses of APNs environments end.
        Devices that APNs reported as invalid stay invalid.
      </p>
    </Action>
  );
}
