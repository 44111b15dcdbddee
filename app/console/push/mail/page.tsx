import { mailOperations } from "@/lib/accounts/emails/operations";
import { countRetrying, listEmails } from "@/lib/accounts/emails/queued-emails";
import { EmailsQuery, type QueuedEmail } from "@/lib/accounts/emails/schema";
import { Action } from "../../components/action";
import { Badge, type Tone } from "../../components/cells";
import { Filters, InputFilter, SelectFilter } from "../../components/filters";
import { countBounded } from "../../components/format-numbers";
import { PageHead } from "../../components/headings";
import { EmptyState } from "../../components/states";
import { type Column, List } from "../../components/table";
import { Ago } from "../../components/time";
import { consolePage } from "../../frame/console-page";
import { PushTabs } from "../push-tabs";

export const metadata = { title: "Mail queue" };

const STATES = { queued: "Queued", sending: "Sending", retrying: "Retrying" };
const TONES: Record<QueuedEmail["state"], Tone> = { queued: "neutral", sending: "active", retrying: "warning" };

const COLUMNS: Column<QueuedEmail>[] = [
  { head: "To", isRowHead: true, cell: ({ to }) => to },
  { head: "Kind", cell: ({ kind }) => <code>{kind}</code> },
  { head: "State", cell: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge> },
  { head: "Attempts", align: "end", cell: ({ attempts }) => attempts },
  { head: "Last error", cell: ({ lastError }) => lastError },
  { head: "Created", isTight: true, cell: ({ createdAt }) => <Ago at={createdAt} /> },
  { head: "Next attempt", isTight: true, cell: ({ nextAttemptAt }) => <Ago at={nextAttemptAt} /> },
  { head: "Actions", align: "end", cell: (email) => <Remove email={email} /> },
];

export default consolePage(
  {
    query: EmailsQuery,
    done: { retried: "The emails that waited are being sent now.", removed: "The email is removed from the queue." },
  },
  async ({ ctx, query }) => {
    const [{ messages, nextCursor }, retrying] = await Promise.all([listEmails(ctx, query), countRetrying(ctx)]);
    return (
      <>
        <PageHead
          title="Mail queue"
          lead="Emails leave the queue when the mail server takes them, rejects them for good, or when they expire."
          actions={retrying > 0 && <RetryAll count={retrying} />}
        />
        <PushTabs current="/console/push/mail" />
        <Filters>
          <SelectFilter name="state" label="State" value={query.state} options={STATES} />
          <InputFilter name="to" label="Recipient" value={query.to} hint="ann@example.com" />
          <SelectFilter
            name="order"
            label="Order"
            value={query.order}
            options={{ oldest: "Oldest first" }}
            any="Newest first"
          />
        </Filters>
        <List
          title="Emails"
          caption="Emails that wait to be sent"
          columns={COLUMNS}
          rows={messages}
          empty={<EmptyState title="No email waits">Queued emails are sent within seconds.</EmptyState>}
          nextCursor={nextCursor}
        />
      </>
    );
  },
);

function RetryAll({ count }: { count: number }) {
  return (
    <Action
      operation={mailOperations.retryQueuedEmails}
      label="Send all now"
      title="Send all that wait now?"
      submit="Send now"
    >
      <p>
        {countBounded(count, "email that waits", "emails that wait")} for another attempt {count === 1 ? "is" : "are"}{" "}
        sent at once. Do this when the mail server is back.
      </p>
    </Action>
  );
}

function Remove({ email: { id, to, kind } }: { email: QueuedEmail }) {
  return (
    <Action
      operation={mailOperations.removeQueuedEmail}
      label="Remove"
      name={`${kind} to ${to}`}
      title={`Remove the email to ${to}?`}
      submit="Remove the email"
      params={{ emailId: id }}
      isDanger
    >
      <p>It is not sent. This cannot be undone: the recipient has to ask for another one.</p>
    </Action>
  );
}
