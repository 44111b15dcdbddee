import { findPendingEmailChange } from "@/lib/accounts/email-change/pending";
import type { Profile } from "@/lib/accounts/profile";
import { listSignInProviders } from "@/lib/http/next-auth/from-forms";
import { Form } from "../../components/form";
import { Email } from "./email";
import { Providers } from "./providers";

type Props = {
  ctx: Parameters<typeof findPendingEmailChange>[0] & Parameters<typeof listSignInProviders>[0];
  profile: Profile;
};

/** The email, the password and the providers that sign in to the account. */
export async function SignInMethods({ ctx, profile: { user, hasPassword, identities } }: Props) {
  const pending = await findPendingEmailChange(ctx, user.id);
  return (
    <section className="card" aria-labelledby="sign-in-methods">
      <h2 id="sign-in-methods">Sign-in</h2>
      <ul className="rows">
        <Email user={user} pending={pending} />
        <li className="row">
          <div className="details">
            <strong>Password</strong>
            <p>{hasPassword ? "Set" : "None: you sign in another way"}</p>
          </div>
          <a className="button quiet" href="/account/password">
            {hasPassword ? "Change password" : "Set a password"}
          </a>
        </li>
        <Providers identities={identities} />
      </ul>
      <div className="actions">
        {listSignInProviders(ctx)
          .filter(({ id }) => !identities.some(({ provider }) => provider === id))
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
    </section>
  );
}
