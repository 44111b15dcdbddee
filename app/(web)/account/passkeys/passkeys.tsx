import { listPasskeys } from "@/lib/auth/passkeys/stored-passkeys";
import type { Context } from "@/lib/context";
import { Day } from "../../components/time";

type Props = { ctx: Pick<Context, "db">; accountId: string };

/** The account's passkeys. */
export async function Passkeys({ ctx, accountId }: Props) {
  const passkeys = await listPasskeys(ctx.db, accountId);
  return (
    <section className="card" aria-labelledby="passkeys">
      <h2 id="passkeys">Passkeys</h2>
      <p>A passkey signs you in by your fingerprint, face or PIN, without a password.</p>
      {passkeys.length > 0 && (
        <ul className="rows">
          {passkeys.map(({ id, name, isSynced, createdAt, lastUsedAt }) => (
            <li key={id} className="row">
              <div className="details">
                <strong>{name}</strong> {isSynced && <span className="tag">synced</span>}
                <p>
                  Added <Day at={createdAt} />, {lastUsedAt ? "last used " : "not used yet"}
                  {lastUsedAt && <Day at={lastUsedAt} />}
                </p>
              </div>
              <a className="button quiet" href={`/account/passkeys/rename?id=${id}`} aria-label={`Rename ${name}`}>
                Rename
              </a>
              <a className="button quiet" href={`/account/passkeys/remove?id=${id}`} aria-label={`Remove ${name}`}>
                Remove
              </a>
            </li>
          ))}
        </ul>
      )}
      <div className="actions">
        <a className="button quiet" href="/account/passkeys/add">
          Add a passkey
        </a>
      </div>
    </section>
  );
}
