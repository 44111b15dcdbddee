import type { PushMessage } from "@/lib/push/admin/schema";
import { formatCount } from "../components/format-numbers";
import type { Column } from "../components/table";
import { Ago } from "../components/time";
import { audienceText } from "./audience/audience-text";
import { messageName } from "./message-name";
import { MessageStatus } from "./status";

/** The columns of a list of messages. */
export const MESSAGE_COLUMNS: Column<PushMessage>[] = [
  {
    head: "Message",
    isRowHead: true,
    cell: (message) => (
      <a href={`/console/push/messages/${message.id}`}>
        <bdi>{messageName(message)}</bdi>
      </a>
    ),
  },
  { head: "Kind", cell: ({ kind }) => <code>{kind}</code> },
  { head: "Status", cell: ({ status }) => <MessageStatus status={status} /> },
  { head: "To", cell: recipientOf },
  { head: "Waiting", align: "end", cell: ({ waiting }) => formatCount(waiting) },
  { head: "Sent", align: "end", cell: ({ sent }) => formatCount(sent) },
  { head: "Failed", align: "end", cell: ({ failed }) => formatCount(failed) },
  { head: "Created", isTight: true, cell: ({ createdAt }) => <Ago at={createdAt} /> },
];

/** Who a message is for. */
export function recipientOf({ to: { accountId, deviceId, bundleId, audience } }: PushMessage) {
  if (accountId) return <a href={`/console/accounts/${accountId}`}>An account</a>;
  if (deviceId) return "One device";
  return audience ? audienceText(audience) : (bundleId ?? "Every device");
}
