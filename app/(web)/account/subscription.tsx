import { readSubscriptionStatus } from "@/lib/subscriptions/subscription-status";
import { Day } from "../parts/time";
import { statusInWords } from "./subscription-words";

type Props = {
  ctx: Parameters<typeof readSubscriptionStatus>[0];
  visitor: Parameters<typeof readSubscriptionStatus>[1];
};

/** The account's subscription: the answer that the API gives, in words, and every purchase behind it. */
export async function Subscription({ ctx, visitor }: Props) {
  const status = await readSubscriptionStatus(ctx, visitor);
  return (
    <section className="card" aria-labelledby="subscription">
      <h2 id="subscription">Subscription</h2>
      <p className={status.isActive ? "state good" : "state none"}>{statusInWords(status)}</p>
      {status.subscriptions.length > 0 && (
        <ul className="rows">
          {status.subscriptions.map((line, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: purchases have no name of their own, and none moves.
            <li key={i} className="row">
              <div className="what">
                <strong>{line.productId ?? "Purchase"}</strong>{" "}
                <span className="tag">{STORES[line.store ?? ""] ?? line.store}</span>
                <p>
                  {statusInWords(line)}
                  {line.startedAt && (
                    <>
                      {" "}
                      Since <Day at={line.startedAt} />.
                    </>
                  )}
                </p>
              </div>
              {line.managementUrl && <a href={line.managementUrl}>Manage</a>}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

const STORES: Record<string, string> = {
  APP_STORE: "App Store",
  MAC_APP_STORE: "Mac App Store",
  PLAY_STORE: "Google Play",
  AMAZON: "Amazon Appstore",
  STRIPE: "Web",
  RC_BILLING: "Web",
  PADDLE: "Web",
  PROMOTIONAL: "Gift",
};
