import { pushOperations } from "@/lib/push/admin/operations";
import type { Delivery } from "@/lib/push/admin/schema";
import { Action } from "../components/action";
import type { Column } from "../components/table";
import { Ago } from "../components/time";
import { MessageLink } from "./message-columns";
import { DeliveryState } from "./status";

export const DELIVERY_COLUMNS: Column<Delivery>[] = [
  { head: "Notification", isRowHead: true, cell: MessageLink },
  { head: "State", cell: ({ state }) => <DeliveryState state={state} /> },
  { head: "Response", cell: ({ reason, apnsStatus }) => [apnsStatus, reason].filter(Boolean).join(" ") },
  { head: "Attempts", align: "end", cell: ({ attempts }) => attempts },
  { head: "Device", cell: ({ deviceId }) => <code>{deviceId.slice(-12)}</code> },
  { head: "Ended", isTight: true, cell: ({ endedAt }) => <Ago at={endedAt} /> },
  { head: "Due", isTight: true, cell: ({ nextAttemptAt }) => <Ago at={nextAttemptAt} /> },
  { head: "Actions", align: "end", cell: ({ id, state }) => state === "failed" && <RetryDelivery id={id} /> },
];

function RetryDelivery({ id }: { id: string }) {
  return (
    <Action
      operation={pushOperations.retryPushDeliveries}
      label="Retry"
      name={id}
      title="Send this notification again?"
      submit="Send again"
      params={{ ids: id }}
    >
      <p>It is queued again, unless it has expired. Pauses of APNs environments end.</p>
    </Action>
  );
}
