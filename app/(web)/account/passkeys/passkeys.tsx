import { listPasskeys } from "@/lib/auth/passkeys/stored-passkeys";
import type { Context } from "@/lib/context";
import { Day } from "../../components/time";
import { COMMON } from "../../language/common-texts";
import { textsOf } from "../../language/page-language";
import type { AccountTexts } from "../texts/account";

type Props = { ctx: Pick<Context, "db">; accountId: string; texts: AccountTexts };

/** The account's passkeys. */
export async function Passkeys({ ctx, accountId, texts: { passkeys: texts, added, lastUsed, notUsedYet } }: Props) {
  const common = await textsOf(COMMON);
  const passkeys = await listPasskeys(ctx.db, accountId);
  return (
    <section className="card" aria-labelledby="passkeys">
      <h2 id="passkeys">{texts.title}</h2>
      <p>{texts.intro}</p>
      {passkeys.length > 0 && (
        <ul className="rows">
          {passkeys.map(({ id, name, isSynced, createdAt, lastUsedAt }) => (
            <li key={id} className="row">
              <div className="details">
                <strong>{name}</strong> {isSynced && <span className="tag">{texts.synced}</span>}
                <p>
                  {added} <Day at={createdAt} />, {lastUsedAt ? lastUsed : notUsedYet}{" "}
                  {lastUsedAt && <Day at={lastUsedAt} />}
                </p>
              </div>
              <a className="button quiet" href={`/account/passkeys/rename?id=${id}`} aria-label={texts.rename(name)}>
                {common.rename}
              </a>
              <a className="button quiet" href={`/account/passkeys/remove?id=${id}`} aria-label={texts.remove(name)}>
                {common.remove}
              </a>
            </li>
          ))}
        </ul>
      )}
      <div className="actions">
        <a className="button quiet" href="/account/passkeys/add">
          {texts.add}
        </a>
      </div>
    </section>
  );
}
