import type { AccountEvents } from "@/lib/accounts/admin/schema";
import { clientName } from "@/lib/auth/sessions/client-name";
import { type AuditEventType, EVENT_LABELS } from "@/lib/platform/audit/event-types";
import { Dash } from "../../components/cells";
import { EventDetails } from "../../components/event-details";
import { type Column, List } from "../../components/table";
import { ExactTime } from "../../components/time";

type Event = AccountEvents["events"][number];

const COLUMNS: Column<Event>[] = [
  { head: "Event", isRowHead: true, cell: ({ type }) => EVENT_LABELS[type as AuditEventType] ?? type },
  { head: "By", cell: ({ actor }) => <Actor actor={actor} /> },
  { head: "Client", cell: ({ userAgent }) => (userAgent ? clientName(null, userAgent) : <Dash />) },
  { head: "Network", isTight: true, cell: ({ network }) => network ?? <Dash /> },
  { head: "Details", cell: ({ details }) => <EventDetails details={details} /> },
  { head: "Time", isTight: true, cell: ({ at }) => <ExactTime at={at} /> },
];

/** What happened to the account: by its owner, and by operators. */
export function SecurityEvents({ events, nextCursor }: AccountEvents) {
  return (
    <List
      title="Security events"
      caption="Security events, the newest first"
      columns={COLUMNS}
      rows={events}
      empty="No event is left: they are kept for a year"
      nextCursor={nextCursor}
    />
  );
}

function Actor({ actor }: { actor: string }) {
  const [kind, name] = actor.split(/:(.*)/s);
  if (actor === "account") return "The owner";
  if (kind === "account") return <a href={`/console/accounts/${name}`}>An operator</a>;
  if (kind === "key") return "An API key";
  if (kind === "service") return "The service";
  return name ? `Operator ${name}` : "An operator";
}
