import type { LinkedIdentity } from "@/lib/accounts/sign-in-methods/identities";
import { providerTitle } from "@/lib/auth/sign-in-providers/providers";
import { Day } from "../../components/time";
import { ProviderLogo } from "../../sign-in/provider-button";
import type { AccountTexts } from "../texts/account";

/** The providers that are linked to the account. */
export function Providers({ identities, texts }: { identities: LinkedIdentity[]; texts: AccountTexts }) {
  return identities.map(({ id, provider, createdAt }) => (
    <li key={id} className="row">
      <div className="details">
        <strong>
          <ProviderLogo id={provider} /> {providerTitle(provider)}
        </strong>
        <p>
          {texts.added} <Day at={createdAt} />
        </p>
      </div>
      <a className="button quiet" href={`/account/unlink?id=${id}`}>
        {texts.signIn.removeProvider(providerTitle(provider))}
      </a>
    </li>
  ));
}
