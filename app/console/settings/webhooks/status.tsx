import type { Delivery, Endpoint } from "@/lib/webhooks/schema";
import { Badge, type Tone } from "../../components/badge";
import { Dash } from "../../components/dash";

const TONES: Record<Endpoint["status"], Tone> = { enabled: "good", failing: "bad", disabled: "neutral" };
const STATE_TONES: Record<Delivery["state"], Tone> = { pending: "active", delivered: "good", failed: "bad" };

export function EndpointStatus({ status }: Pick<Endpoint, "status">) {
  return <Badge tone={TONES[status]}>{status}</Badge>;
}

/** A delivery that is pending after an attempt stands out: it is retried. */
export function DeliveryState({ state, attempts }: Pick<Delivery, "state" | "attempts">) {
  const isRetried = state === "pending" && attempts > 0;
  return <Badge tone={isRetried ? "warning" : STATE_TONES[state]}>{state}</Badge>;
}

/** How the last attempt ended: the status of the response, or why there was none. */
export function Result({ responseStatus, error }: Pick<Delivery, "responseStatus" | "error">) {
  if (responseStatus !== null) return responseStatus;
  return error === null ? <Dash /> : <bdi>{error}</bdi>;
}
