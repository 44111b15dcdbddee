import type { PurchaseStatus } from "@/lib/subscriptions/schema";
import { accessOf } from "@/lib/subscriptions/status/purchase-status";

/** What each access means. */
const TEXTS: Record<ReturnType<typeof accessOf>, string> = {
  entitled: "It gives access now.",
  without_entitlement: "It is active, but gives no entitlement: its product is mapped to none.",
  not_counted:
    "only production counts for this account. BILLING_SANDBOX_ENTITLES and BILLING_SANDBOX_TESTERS change that, and a test event for an hour.",
  none: "It gives no access now.",
};

/** Says whether a purchase gives access now, and why not. */
export function describeAccess(status: Parameters<typeof accessOf>[0] & Pick<PurchaseStatus, "environment">): string {
  const access = accessOf(status);
  if (access !== "not_counted") return TEXTS[access];
  const reason = status.environment === "SANDBOX" ? "it is a sandbox purchase" : "its environment is unknown";
  return `It gives no access: ${reason}, and ${TEXTS.not_counted}`;
}
