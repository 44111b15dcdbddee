import { readFactors } from "@/lib/auth/second-factor/factors";
import { RECOVERY_CODE_COUNT } from "@/lib/auth/second-factor/recovery-codes";
import { Day } from "../../components/time";
import type { AccountTexts } from "../texts/account";

type Props = { ctx: Parameters<typeof readFactors>[0]; accountId: string; texts: AccountTexts };

/** The account's second factors. */
export async function Factors({ ctx, accountId, texts: { factors: texts, added, lastUsed } }: Props) {
  const { totp, recoveryCodes } = await readFactors(ctx, accountId);
  return (
    <section className="card" aria-labelledby="factors">
      <h2 id="factors">{texts.title}</h2>
      {totp ? (
        <ul className="rows">
          <li className="row">
            <div className="details">
              <strong>{texts.app}</strong>
              <p>
                {added} <Day at={totp.createdAt} />
                {totp.lastUsedAt && (
                  <>
                    , {lastUsed} <Day at={totp.lastUsedAt} />
                  </>
                )}
              </p>
            </div>
            <a className="button quiet" href="/account/factors/remove">
              {texts.remove}
            </a>
          </li>
          <li className="row">
            <div className="details">
              <strong>{texts.codes}</strong>
              <p>{texts.left(recoveryCodes?.remaining ?? 0, RECOVERY_CODE_COUNT)}</p>
            </div>
            <a className="button quiet" href="/account/factors/recovery-codes">
              {texts.newCodes}
            </a>
          </li>
        </ul>
      ) : (
        <>
          <p>{texts.why}</p>
          <p>
            <a className="button quiet" href="/account/factors/totp">
              {texts.add}
            </a>
          </p>
        </>
      )}
    </section>
  );
}
