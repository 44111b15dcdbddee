import type { Context } from "@/lib/context";
import { listDeliveries } from "@/lib/push/admin/list-deliveries";
import type { Delivery } from "@/lib/push/admin/schema";
import { ButtonLink } from "../../components/action";
import { type Column, List } from "../../components/table";
import { Ago } from "../../components/time";
import { MessageLink } from "../../push/message-columns";
import { DeliveryState } from "../../push/status";

const MAX_SHOWN = 20;
const COLUMNS: Column<Delivery>[] = [
  { head: "Notification", isRowHead: true, cell: MessageLink },
  {
    head: "State",
    cell: ({ state, reason }) => (
      <>
        <DeliveryState state={state} /> {reason}
      </>
    ),
  },
  { head: "Attempts", align: "end", cell: ({ attempts }) => attempts },
  { head: "Queued", isTight: true, cell: ({ createdAt }) => <Ago at={createdAt} /> },
  { head: "Ended", isTight: true, cell: ({ endedAt }) => <Ago at={endedAt} /> },
];

type Props = { ctx: Context; accountId: string; canSend: boolean };

/** The newest notifications to the devices of the account. */
export async function Notifications({ ctx, accountId, canSend }: Props) {
  const { deliveries, nextCursor } = await listDeliveries(ctx, { account: accountId, limit: MAX_SHOWN });
  const ofAccount = new URLSearchParams({ account: accountId });
  return (
    <List
      title="Notifications"
      actions={
        <>
          {nextCursor !== null && <a href={`/console/push/deliveries?${ofAccount}`}>All notifications</a>}
          {canSend && <ButtonLink href={`/console/push/send?${ofAccount}`}>Send a notification</ButtonLink>}
        </>
      }
      caption="Notifications, the newest first"
      columns={COLUMNS}
      rows={deliveries}
      empty="No notification was sent to a device of this account"
    />
  );
}
