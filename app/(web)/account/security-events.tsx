import { listSecurityEvents } from "@/lib/accounts/security-log";
import { Moment } from "../parts/time";
import { clientInWords } from "./client-words";

type Props = { ctx: Parameters<typeof listSecurityEvents>[0]; accountId: string };
type Event = Awaited<ReturnType<typeof listSecurityEvents>>[number];

/** What happened to the account lately. */
export async function SecurityEvents({ ctx, accountId }: Props) {
  const events = await listSecurityEvents(ctx, accountId);
  return (
    <section className="card" aria-labelledby="events">
      <h2 id="events">What happened lately</h2>
      <p>Something here that was not you? Change your password: it signs everybody out.</p>
      <ul className="rows">
        {events.map(({ id, type, at, address, client }) => (
          <li key={id} className="row">
            <div className="what">
              <strong>{EVENTS_IN_WORDS[type]}</strong>
              <p>
                <Moment at={at} />, {clientInWords(client)}
                {address && `, from ${address}`}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

const EVENTS_IN_WORDS: Record<Event["type"], string> = {
  registered: "Account made",
  signed_in: "Signed in",
  sign_in_failed: "Sign-in with a wrong password",
  password_reset: "Password changed",
  signed_out: "Signed out",
  exported: "Data exported",
  device_verified: "Device confirmed",
};
