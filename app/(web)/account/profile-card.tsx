import type { Profile } from "@/lib/accounts/profile";
import { providerTitle } from "@/lib/auth/oauth/providers";
import { listSignInProviders } from "@/lib/http/next-auth/from-forms";
import { Form } from "../components/form";
import { Day } from "../components/time";

type Props = { ctx: Parameters<typeof listSignInProviders>[0]; profile: Profile };

/** The account's profile and its sign-in methods. */
export async function ProfileCard({ ctx, profile: { user, hasPassword, identities } }: Props) {
  const configured = listSignInProviders(ctx);
  const linked = new Set(identities.map(({ provider }) => provider));
  return (
    <section className="card" aria-labelledby="profile">
      <h2 id="profile">Profile</h2>
      <dl>
        <dt>Name</dt>
        <dd>{user.name ?? "–"}</dd>
        <dt>Email</dt>
        <dd>
          {user.email} <span className="tag">{user.emailVerified ? "verified" : "not verified"}</span>
        </dd>
        <dt>Member since</dt>
        <dd>
          <Day at={user.createdAt} />
        </dd>
        <dt>Password</dt>
        <dd>{hasPassword ? "set" : "none"}</dd>
      </dl>
      {identities.length > 0 && (
        <ul className="rows">
          {identities.map(({ id, provider, createdAt }) => (
            <li key={id} className="row">
              <div className="details">
                <strong>{providerTitle(provider)}</strong>
                <p>
                  Added <Day at={createdAt} />
                </p>
              </div>
              <a className="button quiet" href={`/account/unlink?id=${id}`}>
                Remove {providerTitle(provider)}
              </a>
            </li>
          ))}
        </ul>
      )}
      <div className="actions">
        {configured
          .filter(({ id }) => !linked.has(id))
          .map(({ id, name }) => (
            <Form key={id} action="/forms/provider">
              <input type="hidden" name="callbackUrl" value="/account" />
              <input type="hidden" name="provider" value={id} />
              <button type="submit" className="quiet">
                Add {name}
              </button>
            </Form>
          ))}
      </div>
      <p>
        <a href="/forgot">{hasPassword ? "Change password" : "Set a password"}</a>
      </p>
    </section>
  );
}
