import type { PurchaseStatus } from "@/lib/subscriptions/schema";
import { Badge, type Tone } from "../../../components/cells";

const TONES: Record<PurchaseStatus["status"], Tone> = {
  active: "good",
  trialing: "good",
  canceled: "active",
  grace_period: "warning",
  billing_retry: "warning",
  paused: "warning",
  expired: "neutral",
  revoked: "bad",
  none: "neutral",
};

/** The status of a purchase, as apps see it. */
export function PurchaseState({ status }: Pick<PurchaseStatus, "status">) {
  return <Badge tone={TONES[status]}>{status.replaceAll("_", " ")}</Badge>;
}
