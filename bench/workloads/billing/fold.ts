import { randomUUID } from "node:crypto";
import { initialPurchase } from "../../../dev/revenuecat";
import { EventFacts } from "../../../lib/subscriptions/events";
import { foldPurchase } from "../../../lib/subscriptions/fold/fold-purchase";
import { revenueCat } from "../../../lib/subscriptions/providers/revenuecat";
import { summarize } from "../../lib/load";
import { atMost, type Section } from "../../lib/table";

const EVENTS = 1_000;
const RUNS = 200;
const MAX_MS = 10;
const HOUR_MS = 60 * 60 * 1000;

/** A line with a thousand events folded anew, from their JSON as the database gives it; in this process. */
export async function fold(): Promise<Section> {
  const stored = Array.from({ length: EVENTS }, (_, i) => storedFacts(i));
  const tookMs = Array.from({ length: RUNS }, () => {
    const startedAt = performance.now();
    foldPurchase(stored.map(({ id, facts }) => ({ id, type: "RENEWAL", ...EventFacts.parse(facts) })));
    return performance.now() - startedAt;
  });
  const { p50Ms, p99Ms } = summarize(tookMs, 0);
  const goal = atMost(p50Ms, MAX_MS, " ms");
  return { title: "fold", rows: [{ candidate: `a purchase with ${EVENTS} events`, p50Ms, p99Ms, goal }] };
}

/** A renewal that is an hour older than the one before it. */
function storedFacts(hours: number): { id: string; facts: unknown } {
  const event = initialPurchase(randomUUID());
  const at = event.purchased_at_ms - hours * HOUR_MS;
  const renewal = { ...event, type: "RENEWAL", purchased_at_ms: at, event_timestamp_ms: at };
  return { id: event.id, facts: JSON.parse(JSON.stringify(revenueCat.read({ event: renewal }, new Date()).facts)) };
}
