import { clientName, UNKNOWN_CLIENT } from "@/lib/auth/sessions/client-name";
import { listSecurityEvents } from "@/lib/platform/audit/list-events";
import { TimeText } from "../../components/time";
import { pageLocale } from "../../language/page-language";
import type { AccountTexts } from "../texts/account";
import { eventLabel } from "../texts/events";

const MAX_EVENTS = 50;
/** Shown at once; the others are collapsed. */
const SHOWN_EVENTS = 5;

type Props = { ctx: Parameters<typeof listSecurityEvents>[0]; accountId: string; texts: AccountTexts };
type Event = Awaited<ReturnType<typeof listSecurityEvents>>[number];

/** The account's recent security events. */
export async function SecurityEvents({ ctx, accountId, texts }: Props) {
  const events = await listSecurityEvents(ctx, accountId, MAX_EVENTS);
  const earlier = events.slice(SHOWN_EVENTS);
  return (
    <section className="card" aria-labelledby="activity">
      <h2 id="activity">{texts.activity.title}</h2>
      <p>{texts.activity.intro}</p>
      <EventList events={events.slice(0, SHOWN_EVENTS)} texts={texts} />
      {earlier.length > 0 && (
        <details>
          <summary>{texts.activity.earlier(earlier.length)}</summary>
          <EventList events={earlier} texts={texts} />
        </details>
      )}
    </section>
  );
}

async function EventList({ events, texts }: { events: Event[]; texts: AccountTexts }) {
  const locale = await pageLocale();
  const who = (name: string) => (name === UNKNOWN_CLIENT ? texts.sessions.unknownClient : name);
  return (
    <ul className="rows">
      {events.map(({ id, type, at, actor, network, userAgent }) => (
        <li key={id} className="row">
          <div className="details">
            <strong>{eventLabel(type, locale)}</strong>
            <p>
              <TimeText at={at} />, {actor === "account" ? who(clientName(null, userAgent)) : texts.activity.byOperator}
              {actor === "account" && network && `, ${texts.activity.from(network)}`}
            </p>
          </div>
        </li>
      ))}
    </ul>
  );
}
