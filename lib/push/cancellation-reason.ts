import { optionsOfKind } from "./notifications";
import type { Outgoing } from "./payload";

/** The reason of deliveries whose message an operator canceled. */
export const CANCELED = "canceled_by_operator";

/** Returns why a delivery must not be sent any more, or null. A browser has to show every message that it gets. */
export function cancellationReason(row: Outgoing, now: Date): string | null {
  const { kind, isCanceled } = row.message;
  if (isCanceled) return CANCELED;
  if (row.expiresAt <= now) return "expired";
  if (row.liveActivity?.isSuperseded) return "superseded";
  if (row.liveActivity?.token === null) return "no_live_activity";
  const options = optionsOfKind(kind);
  if (options?.level === "background" && row.environment === "web") return "background_not_supported";
  if (!options) return "unknown_kind";
  return row.status === options.recipientStatus ? null : "device_state";
}
