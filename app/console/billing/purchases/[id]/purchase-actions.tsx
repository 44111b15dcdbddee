import type { Context } from "@/lib/context";
import { countPurchasesOf } from "@/lib/subscriptions/admin/assign-purchases";
import { billingOperations } from "@/lib/subscriptions/admin/operations";
import type { BillingPurchase } from "@/lib/subscriptions/admin/schema";
import { HOMEPORT } from "@/lib/subscriptions/providers/find-provider";
import { openSources } from "@/lib/subscriptions/sources/find-source";
import { Field } from "../../../../(web)/components/field";
import { Action } from "../../../components/action";
import { formatCount } from "../../../components/format-numbers";

type Props = { ctx: Pick<Context, "billing" | "db">; purchase: BillingPurchase };

/** What can be done with a purchase: compare it with the provider, and assign it while nobody has it. */
export async function PurchaseActions({ ctx, purchase: { id, accountId, appUserIds, provider } }: Props) {
  const isAssignable = accountId === null && appUserIds.length > 0 && provider !== HOMEPORT;
  const isReachable = openSources(ctx).some((source) => source.provider === provider);
  const purchases = isAssignable ? await countPurchasesOf(ctx, { appUserIds, provider }) : 0;
  return (
    <>
      {isReachable && accountId && (
        <Action
          operation={billingOperations.reconcilePurchases}
          label="Reconcile"
          title="Compare with the provider?"
          submit="Reconcile the account"
          params={{ accountId }}
          reason="optional"
        >
          <p>The provider is asked about the account, and its purchases that differ are corrected.</p>
        </Action>
      )}
      {isAssignable && (
        <Action
          operation={billingOperations.assignPurchases}
          label="Assign to an account"
          title="Assign this customer’s purchases?"
          submit="Assign"
          params={{ purchaseId: id }}
          reason="required"
        >
          <p>
            The account gets {purchases === 1 ? "this purchase" : `${formatCount(purchases)} purchases`}, and those that
            the customer makes later. Only a transfer at the provider moves them to another account.
          </p>
          <Field name="accountId" label="Account ID" required autoComplete="off" spellCheck={false} />
        </Action>
      )}
    </>
  );
}
