import type { Endpoint } from "@/lib/webhooks/schema";

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
