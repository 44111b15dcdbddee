import pLimit from "p-limit";
import type { Logger } from "pino";
import { AppError } from "../errors";
import type { PrismaClient } from "../platform/db/generated/client";
import { createConsumer } from "../platform/db/queue";
import { deleteBatch, removeInBatches } from "../platform/db/remove-in-batches";
import { sql } from "../platform/db/sql";
import type { Tx } from "../platform/db/transaction";
import { findUrlFault } from "../platform/outbound";
import { claimDelivery } from "./claim-delivery";
import { type DeliverDeps, deliver } from "./deliver";
import type { WebhookEventType } from "./events";
import { createWebhookRecorder, type WebhookRecorder } from "./outbox";

/** Deliveries at the same time: of one process, and of it to one endpoint. */
const MAX_CONCURRENT = 16;
const MAX_CONCURRENT_PER_ENDPOINT = 4;
const RETENTION_DAYS = 30;

/** Announces events to the endpoints of operators. */
export type Webhooks = WebhookRecorder & {
  /**
   * Checks a URL as far as that is possible without resolving its host: https, or an address that is allowed.
   * @throws AppError validation_failed
   */
  checkUrl: (url: string) => void;
  /** Runs `run` in a transaction if somebody subscribes to the type; otherwise a statement alone needs none. */
  inTransaction: <T>(type: WebhookEventType, run: (tx: Tx) => Promise<T>) => Promise<T>;
  /** Reads the types that endpoints subscribe to. Call it periodically, and after a change of an endpoint. */
  refresh: () => Promise<void>;
  /** Starts to deliver what is due, and returns at once. Does nothing while there is no endpoint. */
  wake: () => void;
  /** Removes the events of more than 30 days ago, with their deliveries. Returns how many. */
  removeOldEvents: () => Promise<number>;
  /** Waits for the deliveries in progress. The rest stay in the queue. */
  close: () => Promise<void>;
};

export function createWebhooks(deps: DeliverDeps & { db: PrismaClient; log: Pick<Logger, "warn"> }): Webhooks {
  const { db, dbNow, log } = deps;
  let subscribed: ReadonlySet<string> | null = null;
  const inFlight = new Map<string, number>();
  const count = (endpointId: string, change: number) =>
    inFlight.set(endpointId, (inFlight.get(endpointId) ?? 0) + change);
  const busy = () => [...inFlight].flatMap(([id, running]) => (running >= MAX_CONCURRENT_PER_ENDPOINT ? id : []));

  const oneAtATime = pLimit(1);
  /** Claims one after the other: each counts what the one before has claimed. */
  const claim = () =>
    oneAtATime(async () => {
      const delivery = await claimDelivery(deps, busy());
      if (delivery) count(delivery.endpointId, 1);
      return delivery;
    });

  const consumer = createConsumer({
    concurrency: MAX_CONCURRENT,
    processNext: async () => {
      const claimed = await claim();
      if (!claimed) return false;
      consumer.wake(); // another one may be due: deliveries wait for their receivers
      await deliver(deps, claimed).finally(() => count(claimed.endpointId, -1));
      return true;
    },
    onError: (error) => log.warn({ err: error }, "a webhook could not be delivered: it will be retried"),
  });
  const recorder = createWebhookRecorder(deps, () => subscribed);

  return {
    ...recorder,
    checkUrl: (url) => {
      const detail = findUrlFault(new URL(url), deps.allowed);
      if (detail === null) return;
      throw new AppError("validation_failed", { errors: [{ pointer: "/url", code: "not_allowed", detail }] });
    },
    inTransaction: (type, run) => (recorder.isSubscribed(type) ? db.$transaction(run) : run(db)),
    refresh: async () => {
      const rows = await db.webhookEndpoint.findMany({ select: { eventTypes: true } });
      subscribed = new Set(rows.flatMap(({ eventTypes }) => eventTypes));
    },
    wake: () => {
      if (subscribed === null || subscribed.size > 0) consumer.wake();
    },
    removeOldEvents: () => {
      const isOld = sql`"occurredAt" < ${dbNow()} - interval '1 day' * ${RETENTION_DAYS}::int`;
      return removeInBatches(() => db.$executeRaw(deleteBatch("WebhookEvent", "id", isOld, "occurredAt")));
    },
    close: consumer.close,
  };
}
