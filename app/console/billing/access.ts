import type { PurchaseStatus } from "@/lib/subscriptions/schema";
import { accessOf } from "@/lib/subscriptions/status/purchase-status";

/** Says whether a purchase gives access now, and why not. */
export function describeAccess(status: Parameters<typeof accessOf>[0] & Pick<PurchaseStatus, "environment">): string {
  switch (accessOf(status)) {
    case "entitled":
      return "It gives access now.";
    case "without_entitlement":
      return "It is active, but gives no entitlement: its product is mapped to none.";
    case "not_counted":
      return status.environment === "SANDBOX"
        ? `It gives no access: it is a sandbox purchase, and ${NOT_COUNTED}`
        : `It gives no access: its environment is unknown, and ${NOT_COUNTED}`;
    case "none":
      return "It gives no access now.";
  }
}

/** Of the purchases of an account, the one that gives most. */
export function bestOf<Status extends Parameters<typeof accessOf>[0]>(purchases: readonly Status[]) {
  return purchases.toSorted((a, b) => ORDER.indexOf(accessOf(a)) - ORDER.indexOf(accessOf(b)))[0];
}

const ORDER: ReturnType<typeof accessOf>[] = ["entitled", "without_entitlement", "not_counted", "none"];

const NOT_COUNTED =
  "only production counts for this account. BILLING_SANDBOX_ENTITLES and BILLING_SANDBOX_TESTERS change that.";
