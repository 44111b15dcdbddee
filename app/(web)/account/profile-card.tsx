import type { Profile } from "@/lib/accounts/profile";
import { listSignInProviders } from "@/lib/auth/next-auth/from-pages";
import { Form } from "../parts/form";
import { Day } from "../parts/time";

type Props = { ctx: Parameters<typeof listSignInProviders>[0]; profile: Profile };

/** Who the account is, and how to sign in to it. */
export async function ProfileCard({ ctx, profile: { user, hasPassword, providers } }: Props) {
  const configured = await listSignInProviders(ctx);
  const linked = configured.filter(({ id }) => providers.includes(id)).map(({ name }) => name);
  const ways = [...(hasPassword ? ["password"] : []), ...linked];
  return (
    <section className="card" aria-labelledby="profile">
      <h2 id="profile">Profile</h2>
      <dl>
        <dt>Name</dt>
        <dd>{user.name ?? "–"}</dd>
        <dt>E-mail</dt>
        <dd>
          {user.email} <span className="tag">{user.emailVerified ? "confirmed" : "not confirmed"}</span>
        </dd>
        <dt>Member since</dt>
        <dd>
          <Day at={user.createdAt} />
        </dd>
        <dt>Signs in with</dt>
        <dd>{ways.join(", ") || "–"}</dd>
      </dl>
      <div className="choices">
        {configured
          .filter(({ id }) => !providers.includes(id))
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
        <a href="/forgot">{hasPassword ? "Change the password" : "Set a password"}</a>
      </p>
    </section>
  );
}
