import pLimit from "p-limit";
import { AppError } from "../errors";
import { createConsumer } from "../platform/db/queue";
import { deleteBatch, removeInBatches } from "../platform/db/remove-in-batches";
import { sql } from "../platform/db/sql";
import type { Tx } from "../platform/db/transaction";
import { findUrlFault } from "../platform/outbound";
import { claimDelivery } from "./claim-delivery";
import { type DeliverDeps, deliver } from "./deliver";
import type { WebhookEventType } from "./events";
import { createWebhookRecorder } from "./outbox";

/** Deliveries at the same time: of one process, and of it to one endpoint. */
const MAX_CONCURRENT = 16;
const MAX_CONCURRENT_PER_ENDPOINT = 4;
const RETENTION_DAYS = 30;

export type Webhooks = ReturnType<typeof createWebhooks>;

/** Announces events to the endpoints of operators. */
export function createWebhooks(deps: DeliverDeps) {
  const { db, dbNow, log } = deps;
  let subscribed: ReadonlySet<string> | null = null;
  const inFlight = new Map<string, number>();
  const count = (endpointId: string, change: number) =>
    inFlight.set(endpointId, (inFlight.get(endpointId) ?? 0) + change);
  const busy = () => [...inFlight].flatMap(([id, running]) => (running >= MAX_CONCURRENT_PER_ENDPOINT ? id : []));

  /** Claims one after the other: each counts what the one before has claimed. */
  const oneAtATime = pLimit(1);
  const claim = async () => {
    const delivery = await claimDelivery(deps, busy());
    if (delivery) count(delivery.endpointId, 1);
    return delivery;
  };

  const consumer = createConsumer({
    concurrency: MAX_CONCURRENT,
    processNext: async () => {
      const claimed = await oneAtATime(claim);
      if (!claimed) return false;
      consumer.wake(); // another one may be due: deliveries wait for their receivers
      await deliver(deps, claimed).finally(() => count(claimed.endpointId, -1));
      return true;
    },
    onError: (error) => log.warn({ err: error }, "a webhook could not be delivered: it will be retried"),
  });
  const recorder = createWebhookRecorder(deps, () => subscribed);
  const refreshInTurn = pLimit(1);
  const refresh = async () => {
    const rows = await db.webhookEndpoint.findMany({ select: { eventTypes: true } });
    subscribed = new Set(rows.flatMap(({ eventTypes }) => eventTypes));
  };

  return {
    ...recorder,
    /**
     * Checks a URL as far as that is possible without resolving its host: https, or an address that is allowed.
     * @throws AppError validation_failed
     */
    checkUrl: (url: string): void => {
      const detail = findUrlFault(new URL(url), deps.allowed);
      if (detail === null) return;
      throw new AppError("validation_failed", { errors: [{ pointer: "/url", code: "not_allowed", detail }] });
    },
    /** Runs `run` in a transaction if somebody subscribes to the type; otherwise a statement alone needs none. */
    inTransaction: <T>(type: WebhookEventType, run: (tx: Tx) => Promise<T>): Promise<T> =>
      recorder.isSubscribed(type) ? db.$transaction(run) : run(db),
    /** Reads the types that endpoints subscribe to. Call it periodically, and after a change of an endpoint. */
    refresh: (): Promise<void> => refreshInTurn(refresh),
    /** Starts to deliver what is due, and returns at once. Does nothing while there is no endpoint. */
    wake: (): void => {
      if (subscribed === null || subscribed.size > 0) consumer.wake();
    },
    /** Removes the events of more than 30 days ago, with their deliveries. Returns how many. */
    removeOldEvents: (): Promise<number> => {
      const isOld = sql`"occurredAt" < ${dbNow()} - interval '1 day' * ${RETENTION_DAYS}::int`;
      return removeInBatches(() => db.$executeRaw(deleteBatch("WebhookEvent", "id", isOld, "occurredAt")));
    },
    /** Waits for the deliveries in progress. The rest stay in the queue. */
    close: consumer.close,
  };
}
