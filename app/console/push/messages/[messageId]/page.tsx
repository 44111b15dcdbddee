import { PageQuery } from "@/lib/platform/lists";
import { listDeliveries } from "@/lib/push/admin/list-deliveries";
import { showMessage } from "@/lib/push/admin/list-messages";
import { pushOperations } from "@/lib/push/admin/operations";
import { MessageParams, type PushMessageDetails } from "@/lib/push/admin/schema";
import { Action } from "../../../components/action";
import { Facts } from "../../../components/facts";
import { formatCount } from "../../../components/format-numbers";
import { PageHead, Section } from "../../../components/headings";
import { EmptyState } from "../../../components/states";
import { List } from "../../../components/table";
import { Ago, ExactTime } from "../../../components/time";
import { consolePage, parseId, titleOf } from "../../../frame/console-page";
import { DELIVERY_COLUMNS } from "../../delivery-columns";
import { messageName, recipientOf } from "../../message-columns";
import { Outcomes } from "../../outcomes";
import { MessageStatus } from "../../status";

export const generateMetadata = titleOf("Push", async ({ ctx, params }) => {
  return messageName(await showMessage(ctx, parseId(MessageParams, params).messageId));
});

export default consolePage(
  {
    query: PageQuery,
    done: {
      sent: "The message is queued.",
      announced: "The version is being announced.",
      canceled: "Unsent deliveries were canceled.",
      retried: "The notification is queued again.",
    },
  },
  async ({ ctx, params, query }) => {
    const { messageId } = parseId(MessageParams, params);
    const message = await showMessage(ctx, messageId);
    const { deliveries, nextCursor } = await listDeliveries(ctx, { ...query, messageId });
    return (
      <>
        <PageHead
          title={messageName(message)}
          parent={{ href: "/console/push", label: "Push" }}
          aside={<MessageStatus status={message.status} />}
          actions={<Cancel message={message} />}
        />
        <div className="columns">
          <Section title="Message">
            <MessageFacts message={message} />
          </Section>
          <Section title="Outcomes">
            <Outcomes outcomes={message.outcomes} query={{ messageId }} />
          </Section>
        </div>
        <List
          title="Deliveries"
          caption="Deliveries of the message"
          columns={DELIVERY_COLUMNS}
          rows={deliveries}
          empty={
            <EmptyState title="There are no deliveries">Workers queue them shortly before they are due.</EmptyState>
          }
          nextCursor={nextCursor}
        />
      </>
    );
  },
);

function MessageFacts({ message }: { message: PushMessageDetails }) {
  const ended = message.sent + message.failed + message.cancelled;
  return (
    <>
      {message.devices > 0 && (
        <progress
          max={message.devices}
          value={Math.min(ended, message.devices)}
          aria-label="Deliveries that have ended"
        >
          {ended}
        </progress>
      )}
      <Facts
        entries={[
          ["Kind", <code key="kind">{message.kind}</code>],
          ["To", recipientOf(message)],
          ["Text", message.body],
          ["Link", message.link],
          ["Devices", formatCount(message.devices)],
          ["Waiting", formatCount(message.waiting)],
          ["Per second", message.perSecond === null ? null : formatCount(message.perSecond)],
          ["Last one due", message.queueingEndsAt && <Ago at={message.queueingEndsAt} />],
          ["Created", <ExactTime key="created" at={message.createdAt} />],
          ["Begins", message.sendAt && <ExactTime key="begins" at={message.sendAt} />],
          ["Expires", <ExactTime key="expires" at={message.expiresAt} />],
          ["Canceled", message.canceledAt && <ExactTime at={message.canceledAt} />],
        ]}
      />
    </>
  );
}

function Cancel({ message: { id, status, devices, sent } }: { message: PushMessageDetails }) {
  if (status !== "scheduled" && status !== "queueing" && status !== "sending") return null;
  return (
    <Action
      operation={pushOperations.cancelPushMessage}
      label="Cancel"
      title="Cancel the unsent deliveries?"
      submit="Cancel the rest"
      params={{ messageId: id }}
      isDanger
    >
      <p>
        {formatCount(sent)} of {formatCount(devices)} devices have received it. The others will not receive it, except
        those to which it is being sent now. You can announce a version again to reach the remaining devices.
      </p>
    </Action>
  );
}
