import type { Delivery, PushMessage } from "@/lib/push/admin/schema";
import { Badge, type Tone } from "../components/cells";

const MESSAGE_TONES: Record<PushMessage["status"], Tone> = {
  scheduled: "neutral",
  queueing: "active",
  sending: "active",
  ended: "good",
  canceled: "neutral",
};

export const STATE_LABELS: Record<Delivery["state"], string> = {
  queued: "Queued",
  sending: "Sending",
  sent: "Sent",
  failed: "Failed",
  cancelled: "Canceled",
};

const STATE_TONES: Record<Delivery["state"], Tone> = {
  queued: "neutral",
  sending: "active",
  sent: "good",
  failed: "bad",
  cancelled: "neutral",
};

export function MessageStatus({ status }: Pick<PushMessage, "status">) {
  return <Badge tone={MESSAGE_TONES[status]}>{status}</Badge>;
}

export function DeliveryState({ state }: Pick<Delivery, "state">) {
  return <Badge tone={STATE_TONES[state]}>{STATE_LABELS[state].toLowerCase()}</Badge>;
}
