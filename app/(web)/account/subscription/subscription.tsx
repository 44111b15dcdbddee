import type { Context } from "@/lib/context";
import { productName } from "@/lib/platform/brand";
import type { PurchaseStatus } from "@/lib/subscriptions/schema";
import { readSubscriptionStatus } from "@/lib/subscriptions/status/read-status";
import { Day } from "../../components/time";
import { pageLocale } from "../../language/page-language";
import { describePurchase, describeStatus } from "./describe-status";
import { SUBSCRIPTION } from "./texts";

type Props = {
  ctx: Parameters<typeof readSubscriptionStatus>[0] & Pick<Context, "config">;
  visitor: Parameters<typeof readSubscriptionStatus>[1];
};

/** The account's subscription status, and the purchases it is computed from. */
export async function Subscription({ ctx, visitor }: Props) {
  const status = await readSubscriptionStatus(ctx, visitor);
  const locale = await pageLocale();
  const texts = SUBSCRIPTION[locale];
  const nameOf = ({ productId }: PurchaseStatus) =>
    productId === null ? texts.purchase : (productName(ctx.config, productId) ?? productId);
  const storeOf = ({ store }: PurchaseStatus) => {
    if (store !== null && WEB_STORES.includes(store)) return texts.web;
    return store === "PROMOTIONAL" ? texts.promotion : (STORES[store ?? ""] ?? store);
  };
  return (
    <section className="card" aria-labelledby="subscription">
      <h2 id="subscription">{texts.title}</h2>
      <p className={status.isActive ? "status ok" : "status"}>{describeStatus(status, locale)}</p>
      {status.subscriptions.length > 0 && (
        <ul className="rows">
          {status.subscriptions.map((purchase, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: purchases have no key, and their order does not change.
            <li key={i} className="row">
              <div className="details">
                <strong>{nameOf(purchase)}</strong> <span className="tag">{storeOf(purchase)}</span>
                <p>
                  {describePurchase(purchase, locale)}
                  {purchase.startedAt && (
                    <>
                      {" "}
                      {texts.since} <Day at={purchase.startedAt} />.
                    </>
                  )}
                </p>
              </div>
              {purchase.managementUrl && <a href={purchase.managementUrl}>{texts.manage}</a>}
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
};
const WEB_STORES = ["STRIPE", "RC_BILLING", "PADDLE"];
