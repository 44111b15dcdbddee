import { listSessions } from "@/lib/accounts/sessions";
import { clientName, UNKNOWN_CLIENT } from "@/lib/auth/sessions/client-name";
import { pageContext } from "@/lib/auth/visitor";
import { listSecurityEvents } from "@/lib/platform/audit/list-events";
import { listDevices } from "@/lib/push/devices/devices";
import { Form } from "../components/form";
import { Day, TimeText } from "../components/time";
import { COMMON } from "../language/common-texts";
import { pageLocale, textsOf } from "../language/page-language";
import type { Visitor } from "./require-visitor";
import type { AccountTexts } from "./texts";
import { eventLabel } from "./texts";

type Props = { visitor: Visitor; texts: AccountTexts };

/** The account's active sessions. */
export async function Sessions({ visitor, texts: { sessions: texts, lastUsed } }: Props) {
  const sessions = await listSessions(pageContext(), visitor.account.id);
  const { signOut } = await textsOf(COMMON);
  return (
    <section className="card" aria-labelledby="sessions">
      <h2 id="sessions">{texts.title}</h2>
      <ul className="rows">
        {sessions.map(({ id, deviceName, userAgent, createdAt, lastSeenAt }) => {
          const known = clientName(deviceName, userAgent);
          const name = known === UNKNOWN_CLIENT ? texts.unknownClient : known;
          const isCurrent = id === visitor.session.id;
          return (
            <li key={id} className="row">
              <div className="details">
                <strong>{name}</strong> {isCurrent && <span className="tag">{texts.current}</span>}
                <p>
                  {texts.signedIn} <Day at={createdAt} />, {lastUsed} <TimeText at={lastSeenAt} />
                </p>
              </div>
              {!isCurrent && (
                <Form action="/forms/account/session">
                  <input type="hidden" name="id" value={id} />
                  <button type="submit" className="quiet" aria-label={texts.signOut(name)}>
                    {signOut}
                  </button>
                </Form>
              )}
            </li>
          );
        })}
      </ul>
      {sessions.length > 1 && (
        <Form action="/forms/account/other-sessions">
          <button type="submit" className="quiet">
            {texts.signOutOthers}
          </button>
        </Form>
      )}
    </section>
  );
}

/** The devices that receive notifications. */
export async function Devices({ visitor, texts: { devices: texts, added } }: Props) {
  const devices = await listDevices(pageContext(), visitor);
  const { remove } = await textsOf(COMMON);
  return (
    <section className="card" aria-labelledby="devices">
      <h2 id="devices">{texts.title}</h2>
      {devices.length === 0 && <p>{texts.none}</p>}
      <ul className="rows">
        {devices.map((device) => (
          <li key={device.id} className="row">
            <div className="details">
              <strong>{device.name ?? device.model ?? texts.unnamed}</strong>{" "}
              <span className="tag">{texts.status[device.status]}</span>
              <p>
                {[device.name && device.model, device.osVersion && `iOS ${device.osVersion}`]
                  .filter(Boolean)
                  .join(", ")}
              </p>
              <p>
                {added} <Day at={device.createdAt} />, {texts.lastSeen} <TimeText at={device.lastSeenAt} />
              </p>
            </div>
            <Form action="/forms/account/device">
              <input type="hidden" name="id" value={device.id} />
              <button type="submit" className="quiet" aria-label={texts.remove(device.name ?? device.model)}>
                {remove}
              </button>
            </Form>
          </li>
        ))}
      </ul>
    </section>
  );
}

const MAX_EVENTS = 50;
/** Shown at once; the others are collapsed. */
const SHOWN_EVENTS = 5;

type Event = Awaited<ReturnType<typeof listSecurityEvents>>[number];

/** The account's recent security events. */
export async function SecurityEvents({ visitor, texts }: Props) {
  const events = await listSecurityEvents(pageContext(), visitor.account.id, MAX_EVENTS);
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
