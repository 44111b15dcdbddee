import { listSessions } from "@/lib/accounts/sessions";
import type { Principal } from "@/lib/auth/authenticate";
import { clientName } from "@/lib/auth/sessions/client-name";
import { Form } from "../components/form";
import { Day, Moment } from "../components/time";

type Props = { ctx: Parameters<typeof listSessions>[0]; visitor: Principal };

/** The account's active sessions. */
export async function Sessions({ ctx, visitor }: Props) {
  const sessions = await listSessions(ctx, visitor.account.id);
  return (
    <section className="card" aria-labelledby="sessions">
      <h2 id="sessions">Active sessions</h2>
      <ul className="rows">
        {sessions.map(({ id, deviceName, userAgent, createdAt, lastSeenAt }) => {
          const name = clientName(deviceName, userAgent);
          const isCurrent = id === visitor.session.id;
          return (
            <li key={id} className="row">
              <div className="details">
                <strong>{name}</strong> {isCurrent && <span className="tag">this session</span>}
                <p>
                  Signed in <Day at={createdAt} />, last used <Moment at={lastSeenAt} />
                </p>
              </div>
              {!isCurrent && (
                <Form action="/forms/account/session">
                  <input type="hidden" name="id" value={id} />
                  <button type="submit" className="quiet" aria-label={`Sign out ${name}`}>
                    Sign out
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
            Sign out all other sessions
          </button>
        </Form>
      )}
    </section>
  );
}
