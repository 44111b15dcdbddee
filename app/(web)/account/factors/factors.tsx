import { readFactors } from "@/lib/auth/second-factor/factors";
import { RECOVERY_CODE_COUNT } from "@/lib/auth/second-factor/recovery-codes";
import { Day } from "../../components/time";

type Props = { ctx: Parameters<typeof readFactors>[0]; accountId: string };

/** The account's second factors. */
export async function Factors({ ctx, accountId }: Props) {
  const { totp, recoveryCodes } = await readFactors(ctx, accountId);
  return (
    <section className="card" aria-labelledby="factors">
      <h2 id="factors">Second factor</h2>
      {totp ? (
        <ul className="rows">
          <li className="row">
            <div className="details">
              <strong>Authenticator app</strong>
              <p>
                Added <Day at={totp.createdAt} />
                {totp.lastUsedAt && (
                  <>
                    , last used <Day at={totp.lastUsedAt} />
                  </>
                )}
              </p>
            </div>
            <a className="button quiet" href="/account/factors/remove">
              Remove authenticator app
            </a>
          </li>
          <li className="row">
            <div className="details">
              <strong>Recovery codes</strong>
              <p>
                {recoveryCodes?.remaining ?? 0} of {RECOVERY_CODE_COUNT} left
              </p>
            </div>
            <a className="button quiet" href="/account/factors/recovery-codes">
              New recovery codes
            </a>
          </li>
        </ul>
      ) : (
        <>
          <p>With an authenticator app, whoever learns your password still cannot sign in.</p>
          <p>
            <a className="button quiet" href="/account/factors/totp">
              Add authenticator app
            </a>
          </p>
        </>
      )}
    </section>
  );
}
