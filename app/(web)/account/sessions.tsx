import { listSessions } from "@/lib/accounts/sessions";
import type { Principal } from "@/lib/auth/authenticate";
import { clientName } from "@/lib/auth/client-name";
import { Form } from "../parts/form";
import { Day, Moment } from "../parts/time";

type Props = { ctx: Parameters<typeof listSessions>[0]; visitor: Principal };

/** Where the account is signed in. */
export async function Sessions({ ctx, visitor }: Props) {
  const sessions = await listSessions(ctx, visitor.account.id);
  return (
    <section className="card" aria-labelledby="sessions">
      <h2 id="sessions">Where you are signed in</h2>
      <ul className="rows">
        {sessions.map(({ id, deviceName, client, createdAt, lastSeenAt }) => {
          const name = clientName(deviceName, client);
          const isThis = id === visitor.session.id;
          return (
            <li key={id} className="row">
              <div className="what">
                <strong>{name}</strong> {isThis && <span className="tag">this one</span>}
                <p>
                  Since <Day at={createdAt} />, last used <Moment at={lastSeenAt} />
                </p>
              </div>
              {!isThis && (
                <Form action="/forms/account/session">
                  <input type="hidden" name="id" value={id} />
                  <button type="submit" className="quiet" aria-label={`End the session of ${name}`}>
                    End
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
            End all others
          </button>
        </Form>
      )}
    </section>
  );
}
