import { EVENT_LABELS } from "@/lib/platform/audit/event-types";
import { listAuditEvents, nameActors } from "@/lib/platform/audit/list-events";
import { type AuditFilter, AuditQuery } from "@/lib/platform/audit/schema";
import { AccountName, toAccountId } from "@/lib/platform/find-account";
import { Filters, FilterTime, InputFilter, SelectFilter, TimeFilter } from "../../components/filters";
import { PageHead } from "../../components/headings";
import { List } from "../../components/table";
import { NO_SUCH_ACCOUNT, noSuchAccount } from "../../components/unknown-account";
import { consolePage } from "../../frame/console-page";
import { eventColumns } from "./event-columns";

export const metadata = { title: "Audit trail" };

const PageQuery = AuditQuery.extend({
  account: AccountName.optional(),
  from: FilterTime.optional(),
  to: FilterTime.optional(),
});

export default consolePage({ role: "admin", query: PageQuery }, async ({ ctx, query }) => {
  const { limit, cursor, ...given } = query;
  const account = await toAccountId(ctx, given.account).catch(noSuchAccount);
  const filter = { ...given, account: account ?? undefined };
  const found = account === null ? null : await listAuditEvents(ctx, { ...filter, limit, cursor });
  const { events, nextCursor } = found ?? { events: [], nextCursor: null };
  const names = await nameActors(ctx, events);
  return (
    <>
      <PageHead
        title="Audit trail"
        lead="Sign-ins, changes of how accounts sign in, and everything that operators change. Events are kept for a year."
        actions={
          <a className="button quiet" href={csvPath(filter)} download>
            Download as CSV
          </a>
        }
      />
      <List
        title="Events"
        caption="Events, the newest first"
        isDense
        columns={eventColumns(names)}
        rows={events}
        empty={found ? "No event fits the filters" : NO_SUCH_ACCOUNT}
        nextCursor={nextCursor}
      >
        <Filters>
          <SelectFilter name="type" label="Event" value={filter.type} options={EVENT_LABELS} />
          <InputFilter name="actor" label="Actor" value={filter.actor} hint="operator:ann" />
          <InputFilter name="target" label="Target" value={filter.target} hint="key:ID" />
          <InputFilter name="account" label="Account" value={given.account} hint="Email or ID" />
          <TimeFilter name="from" label="From" value={filter.from} />
          <TimeFilter name="to" label="Before" value={filter.to} />
        </Filters>
      </List>
    </>
  );
});

/** The download of the events that the filters show, on all pages. */
function csvPath({ from, to, ...texts }: AuditFilter): string {
  const given = { ...texts, from: from?.toISOString(), to: to?.toISOString() };
  const pairs = Object.entries(given).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const query = new URLSearchParams(pairs);
  return query.size > 0 ? `/api/admin/audit.csv?${query}` : "/api/admin/audit.csv";
}
