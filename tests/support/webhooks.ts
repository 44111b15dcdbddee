import { expect } from "vitest";
import { COMMAND_LINE } from "@/lib/platform/audit/operator-events";
import { listDeliveries } from "@/lib/webhooks/deliveries";
import { createEndpoint } from "@/lib/webhooks/endpoints";
import type { NewEndpoint } from "@/lib/webhooks/schema";
import { ctx } from "./context";
import { startReceiver } from "./network/webhook-receiver";

export const OPERATOR = { actor: "operator:test", accountId: null, source: COMMAND_LINE } as const;

/** A receiver with an endpoint for some types of events. */
export async function newReceiver(eventTypes: NewEndpoint["eventTypes"] = ["account.created"]) {
  const receiver = await startReceiver();
  const endpoint = await createEndpoint(ctx(), OPERATOR, { url: receiver.url, eventTypes });
  return Object.assign(receiver, { endpoint, secret: endpoint.secret, id: endpoint.id });
}

/** Removes all endpoints, so that no other test's events are recorded. */
export async function removeEndpoints(): Promise<void> {
  await ctx().db.webhookEvent.deleteMany();
  await ctx().db.webhookEndpoint.deleteMany();
  await ctx().webhooks.refresh();
}

/** An endpoint's deliveries, oldest first. */
export async function deliveriesOf(endpointId: string) {
  return (await listDeliveries(ctx(), endpointId, { limit: 200 })).deliveries.toReversed();
}

/** Delivers what is due, and waits until each of an endpoint's deliveries was attempted so many times. */
export async function attempted(endpointId: string, attempts: number): Promise<void> {
  ctx().webhooks.wake();
  await expect
    .poll(
      async () => {
        const rows = await ctx().db.webhookDelivery.findMany({ where: { endpointId } });
        return rows.every((row) => row.attempts >= attempts && row.lastAttemptAt !== null && isAttempted(row));
      },
      { timeout: 15_000 },
    )
    .toBe(true);
}

/** Whether the last attempt has ended. */
function isAttempted({
  state,
  responseStatus,
  error,
}: {
  state: string;
  responseStatus: number | null;
  error: string | null;
}) {
  return state !== "pending" || responseStatus !== null || error !== null;
}
