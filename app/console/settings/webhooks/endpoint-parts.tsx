import type { Delivery, Endpoint } from "@/lib/webhooks/schema";
import { Badge, Dash, type Tone } from "../../components/cells";

/** Longer URLs are cut in lists. */
const MAX_SHOWN = 90;

export const endpointHref = (endpointId: string): string => `/console/settings/webhooks/${endpointId}`;

/** What an endpoint is called: its description, or its host. */
export function endpointName({ url, description }: Pick<Endpoint, "url" | "description">): string {
  return description || new URL(url).host;
}

/** An endpoint's name, with a link to its page, and its URL. */
export function EndpointLink({ endpoint }: { endpoint: Pick<Endpoint, "id" | "url" | "description"> }) {
  const { id, url } = endpoint;
  return (
    <>
      <a className="ids" href={endpointHref(id)}>
        <bdi>{endpointName(endpoint)}</bdi>
      </a>
      <div className="ids url" title={url}>
        <bdi>{url.length > MAX_SHOWN ? `${url.slice(0, MAX_SHOWN)}…` : url}</bdi>
      </div>
    </>
  );
}

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
