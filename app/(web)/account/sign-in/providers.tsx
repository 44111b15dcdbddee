import type { LinkedIdentity } from "@/lib/accounts/identities";
import { providerTitle } from "@/lib/auth/oauth/providers";
import { Day } from "../../components/time";

/** The providers that are linked to the account. */
export function Providers({ identities }: { identities: LinkedIdentity[] }) {
  return identities.map(({ id, provider, createdAt }) => (
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
  ));
}
