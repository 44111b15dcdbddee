import { readSubscriptionStatus } from "@/lib/subscriptions/read-status";
import { Day } from "../components/time";
import { describeStatus } from "./describe-status";

type Props = {
  ctx: Parameters<typeof readSubscriptionStatus>[0];
  visitor: Parameters<typeof readSubscriptionStatus>[1];
};

/** The account's subscription status, and the purchases it is computed from. */
export async function Subscription({ ctx, visitor }: Props) {
  const status = await readSubscriptionStatus(ctx, visitor);
  return (
    <section className="card" aria-labelledby="subscription">
      <h2 id="subscription">Subscription</h2>
      <p className={status.isActive ? "status ok" : "status"}>{describeStatus(status)}</p>
      {status.subscriptions.length > 0 && (
        <ul className="rows">
          {status.subscriptions.map((purchase, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: purchases have no key, and their order does not change.
            <li key={i} className="row">
              <div className="details">
                <strong>{purchase.productId ?? "Purchase"}</strong>{" "}
                <span className="tag">{STORES[purchase.store ?? ""] ?? purchase.store}</span>
                <p>
                  {describeStatus(purchase)}
                  {purchase.startedAt && (
                    <>
                      {" "}
                      Since <Day at={purchase.startedAt} />.
                    </>
                  )}
                </p>
              </div>
              {purchase.managementUrl && <a href={purchase.managementUrl}>Manage</a>}
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
  PROMOTIONAL: "Promotion",
};
