import { listSessions } from "@/lib/accounts/sessions";
import { clientName, UNKNOWN_CLIENT } from "@/lib/auth/sessions/client-name";
import type { Principal } from "@/lib/principal";
import { Form } from "../components/form";
import { Day, TimeText } from "../components/time";
import { COMMON } from "../language/common-texts";
import { textsOf } from "../language/page-language";
import type { AccountTexts } from "./texts/account";

type Props = { ctx: Parameters<typeof listSessions>[0]; visitor: Principal; texts: AccountTexts };

/** The account's active sessions. */
export async function Sessions({ ctx, visitor, texts: { sessions: texts, lastUsed } }: Props) {
  const sessions = await listSessions(ctx, visitor.account.id);
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
