import assert from "node:assert/strict";
import { databaseNow } from "../../../lib/platform/db/clock";
import { PrismaClient } from "../../../lib/platform/db/generated/client";
import { postgresAdapter } from "../../../lib/platform/db/server/adapter";
import { claimDeliveries } from "../../../lib/push/worker/claim-deliveries";
import { addPushQueue } from "../../fixtures/growth/push-queue";
import type { Bench } from "../../lib/bench";
import type { Latency } from "../../lib/table";
import type { Growth } from "./growing-tables";
import { callInTurn, latencyOf } from "./latency";

const CLAIMED = 500;

/** The outbox: due deliveries, and as many receipts. */
export function pushGrowth(bench: Bench): Growth {
  return {
    curves: [{ name: "claim", title: `Push worker: a claim of ${CLAIMED}`, rows: "queued deliveries" }],
    grow: (from, to) => addPushQueue(bench.database, from, to),
    measure: (_, plot) => plot("claim", () => claimLatency(bench)),
  };
}

/** Claims deliveries as the worker does. Between the calls, which are what counts, they become due again. */
async function claimLatency({ database, env }: Bench): Promise<Latency> {
  const db = new PrismaClient({ adapter: postgresAdapter(env.DATABASE_URL, 1, console.error) });
  const deps = { db, dbNow: databaseNow, now: () => new Date() };
  const claim = async () => {
    const { deliveries } = await claimDeliveries(deps, { notBefore: new Date(0), limit: CLAIMED });
    assert.equal(deliveries.length, CLAIMED);
  };
  const release = () => database.query(`UPDATE "QueuedPush" SET "leaseUntil" = NULL WHERE "leaseUntil" IS NOT NULL`);
  try {
    return await latencyOf(() => callInTurn(claim, release));
  } finally {
    await db.$disconnect();
  }
}
