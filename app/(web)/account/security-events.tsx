import { listSecurityEvents } from "@/lib/accounts/profile";
import { clientName } from "@/lib/auth/client-name";
import { Moment } from "../parts/time";

type Props = { ctx: Parameters<typeof listSecurityEvents>[0]; accountId: string };
type Event = Awaited<ReturnType<typeof listSecurityEvents>>[number];

/** What happened to the account lately. */
export async function SecurityEvents({ ctx, accountId }: Props) {
  const events = await listSecurityEvents(ctx, accountId);
  return (
    <section className="card" aria-labelledby="events">
      <h2 id="events">What happened lately</h2>
      <p>
        Something here that was not you? Change your password, which signs you out everywhere, and remove every sign-in
        provider above that is not yours: it still works after the change.
      </p>
      <ul className="rows">
        {events.map(({ id, type, at, address, client }) => (
          <li key={id} className="row">
            <div className="what">
              <strong>{EVENTS_IN_WORDS[type]}</strong>
              <p>
                <Moment at={at} />, {clientName(null, client)}
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
  email_verified: "E-mail confirmed",
  identity_linked: "Way to sign in added",
  identity_unlinked: "Way to sign in removed",
  account_deleted: "Account deleted",
  exported: "Data exported",
  device_verified: "Device confirmed",
};
