import { clientName } from "@/lib/auth/sessions/client-name";
import { type AuditEventType, EVENT_LABELS } from "@/lib/platform/audit/event-types";
import type { AuditEntry } from "@/lib/platform/audit/schema";
import { Dash } from "../../components/cells";
import { EventDetails } from "../../components/event-details";
import type { Column } from "../../components/table";
import { ExactTime } from "../../components/time";

/** The columns of the trail. `names` are what actors are called. */
export function eventColumns(names: ReadonlyMap<string, string>): Column<AuditEntry>[] {
  return [
    { head: "Event", isRowHead: true, cell: EventName },
    { head: "When", cell: ({ at }) => <ExactTime at={at} /> },
    { head: "Who", cell: (event) => <Actor event={event} name={names.get(event.actor)} /> },
    { head: "Target", cell: (event) => <Target event={event} /> },
    { head: "From", isTight: true, cell: (event) => <Source event={event} /> },
    { head: "Details", cell: ({ details }) => <EventDetails details={details} isFolded /> },
  ];
}

function EventName({ type }: AuditEntry) {
  const label = EVENT_LABELS[type as AuditEventType] ?? type;
  return (
    <span className="event" title={label}>
      {label}
    </span>
  );
}

/** Who acted. Actors other than an account of its own link to everything else that they did. */
function Actor({ event, name }: { event: AuditEntry; name: string | undefined }) {
  const { actor } = event;
  if (actor === "account") return <Account event={event} />;
  if (actor === "service") return "The service";
  const kind = actor.startsWith("key:") ? "Key " : actor.startsWith("publisher:") ? "Publisher " : "";
  const text = name ? `${kind}${name}` : actor;
  return <IdLink href={`?${new URLSearchParams({ actor })}`} title={actor} text={text} />;
}

/** What was acted on: something with an id, or the account. */
function Target({ event }: { event: AuditEntry }) {
  const { target, actor, accountId } = event;
  if (target === null && actor !== "account" && accountId !== null) return <Account event={event} />;
  if (target === null) return <span className="muted">{accountId ? "Own account" : "–"}</span>;
  return <IdLink href={`?${new URLSearchParams({ target })}`} title={target} text={target} />;
}

/** The account of an event. Of a deleted one, only its pseudonym is left, which finds its other events. */
function Account({ event: { accountId, email } }: { event: AuditEntry }) {
  if (accountId === null) return <Dash />;
  if (email === null) return <a href={`?${new URLSearchParams({ account: accountId })}`}>Deleted account</a>;
  return <IdLink href={`/console/accounts/${accountId}`} title={email} text={email} />;
}

/** A link with a text that may be long, or in any direction. */
function IdLink({ href, title, text }: Record<"href" | "title" | "text", string>) {
  return (
    <a className="ids" href={href} title={title}>
      <bdi>{text}</bdi>
    </a>
  );
}

/** Where the request came from. At the command line it came from nowhere. */
function Source({ event: { network, userAgent } }: { event: AuditEntry }) {
  if (network === null && userAgent === null) return <Dash />;
  return (
    <span className="from" title={[network, userAgent].filter(Boolean).join("\n")}>
      {[network, userAgent !== null && clientName(null, userAgent)].filter(Boolean).join(", ")}
    </span>
  );
}
