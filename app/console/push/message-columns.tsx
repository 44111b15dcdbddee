import type { Delivery, PushMessage } from "@/lib/push/admin/schema";
import { formatCount } from "../components/format-numbers";
import type { Column } from "../components/table";
import { Ago } from "../components/time";
import { audienceText } from "./audience/audience-text";
import { MessageStatus } from "./status";

export const MESSAGE_COLUMNS: Column<PushMessage>[] = [
  { head: "Message", isRowHead: true, cell: (message) => <MessageLink {...message} messageId={message.id} /> },
  { head: "Kind", cell: ({ kind }) => <code>{kind}</code> },
  { head: "Status", cell: ({ status }) => <MessageStatus status={status} /> },
  { head: "To", cell: recipientOf },
  { head: "Waiting", align: "end", cell: ({ waiting }) => formatCount(waiting) },
  { head: "Sent", align: "end", cell: ({ sent }) => formatCount(sent) },
  { head: "Failed", align: "end", cell: ({ failed }) => formatCount(failed) },
  { head: "Created", isTight: true, cell: ({ createdAt }) => <Ago at={createdAt} /> },
];

export function recipientOf({ to: { accountId, deviceId, bundleId, audience } }: PushMessage) {
  if (accountId) return <a href={`/console/accounts/${accountId}`}>An account</a>;
  if (deviceId) return "One device";
  return audience ? audienceText(audience) : (bundleId ?? "Every device");
}

/** What a message is called: its title, the version that it announces, or its kind if operators did not write it. */
export function messageName({ kind, title }: Pick<Delivery, "kind" | "title">): string {
  if (title === null) return kind ?? "Removed";
  return kind === "app.new_version" ? `Version ${title}` : title;
}

export function MessageLink({ messageId, ...message }: Pick<Delivery, "messageId" | "kind" | "title">) {
  return (
    <a href={`/console/push/messages/${messageId}`}>
      <bdi>{messageName(message)}</bdi>
    </a>
  );
}
