import { listSecurityEvents } from "@/lib/audit/security-events";
import { clientName } from "@/lib/auth/sessions/client-name";
import { Moment } from "../components/time";

const MAX_EVENTS = 20;

type Props = { ctx: Parameters<typeof listSecurityEvents>[0]; accountId: string };
type Event = Awaited<ReturnType<typeof listSecurityEvents>>[number];

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
        {events.map(({ id, type, at, network, userAgent }) => (
          <li key={id} className="row">
            <div className="details">
              <strong>{EVENT_LABELS[type]}</strong>
              <p>
                <Moment at={at} />, {clientName(null, userAgent)}
                {network && `, from ${network}`}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

const EVENT_LABELS: Record<Event["type"], string> = {
  registered: "Account created",
  signed_in: "Signed in",
  sign_in_failed: "Failed sign-in: wrong password",
  password_reset: "Password changed",
  signed_out: "Signed out",
  email_verified: "Email verified",
  identity_linked: "Sign-in provider added",
  identity_unlinked: "Sign-in provider removed",
  account_deleted: "Account deleted",
  exported: "Data exported",
  device_verified: "Device verified",
};
