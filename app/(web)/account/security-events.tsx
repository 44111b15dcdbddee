import { type AuditEventType, EVENT_LABELS } from "@/lib/audit/event-types";
import { listSecurityEvents } from "@/lib/audit/trail";
import { clientName } from "@/lib/auth/sessions/client-name";
import { Moment } from "../components/time";

const MAX_EVENTS = 20;

type Props = { ctx: Parameters<typeof listSecurityEvents>[0]; accountId: string };

/** The account's recent security events. */
export async function SecurityEvents({ ctx, accountId }: Props) {
  const events = await listSecurityEvents(ctx, accountId, MAX_EVENTS);
  return (
    <section className="card" aria-labelledby="events">
      <h2 id="events">Recent activity</h2>
      <p>
        If you don’t recognize something, change your password. This signs you out everywhere. Sign-in providers keep
        working after a password change, so also remove any provider above that is not yours.
      </p>
      <ul className="rows">
        {events.map(({ id, type, at, actor, network, userAgent }) => (
          <li key={id} className="row">
            <div className="details">
              <strong>{EVENT_LABELS[type as AuditEventType] ?? type}</strong>
              <p>
                <Moment at={at} />, {actor === "account" ? clientName(null, userAgent) : "by the service’s operator"}
                {network && `, from ${network}`}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
