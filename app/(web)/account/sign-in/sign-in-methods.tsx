import { findPendingEmailChange } from "@/lib/accounts/email-change/request";
import type { AccountProfile } from "@/lib/accounts/profile";
import { listSignInProviders } from "@/lib/auth/next-auth/call-from-forms";
import { COMMON } from "../../language/common-texts";
import { textsOf } from "../../language/page-language";
import { ProviderButton } from "../../sign-in/provider-button";
import type { AccountTexts } from "../texts/account";
import { Email } from "./email";
import { Providers } from "./providers";

type Props = {
  ctx: Parameters<typeof findPendingEmailChange>[0] & Parameters<typeof listSignInProviders>[0];
  profile: AccountProfile;
  texts: AccountTexts;
};

/** The email, the password and the providers that sign in to the account. */
export async function SignInMethods({ ctx, profile: { user, hasPassword, identities }, texts }: Props) {
  const { password } = await textsOf(COMMON);
  const pending = await findPendingEmailChange(ctx, user.id);
  return (
    <section className="card" aria-labelledby="sign-in-methods">
      <h2 id="sign-in-methods">{texts.signIn.title}</h2>
      <ul className="rows">
        <Email user={user} pending={pending} texts={texts.signIn} />
        <li className="row">
          <div className="details">
            <strong>{password}</strong>
            <p>{hasPassword ? texts.signIn.isSet : texts.signIn.isNotSet}</p>
          </div>
          <a className="button quiet" href="/account/password">
            {hasPassword ? texts.signIn.changePassword : texts.signIn.setPassword}
          </a>
        </li>
        <Providers identities={identities} texts={texts} />
      </ul>
      <div className="actions">
        {listSignInProviders(ctx)
          .filter(({ id }) => !identities.some(({ provider }) => provider === id))
          .map(({ id, name }) => (
            <ProviderButton key={id} id={id} callbackUrl="/account">
              {texts.signIn.addProvider(name)}
            </ProviderButton>
          ))}
      </div>
    </section>
  );
}
