import { type Operator, recordOperatorEvent } from "../../../audit/operator-events";
import type { Context } from "../../../context";
import { releasePublished } from "../../../webhooks/events";

/** A release that a write of the catalog publishes; `from` is the one that it was promoted from. */
type PublishedRelease = { id: string; outcome: "added" | "changed" | "unchanged"; from?: string };

/**
 * Records the events of published releases in a transaction that is committed after the catalog is written: if either
 * fails, neither is done. Only if the commit fails, the releases are published without events.
 */
export function recordPublication(
  { db, now, webhooks }: Pick<Context, "db" | "now" | "webhooks">,
  operator: Operator,
  releases: readonly PublishedRelease[],
  writeCatalog: () => Promise<void>,
): Promise<void> {
  const added = releases.filter(({ outcome }) => outcome === "added");
  const events = added.map(({ id }) => releasePublished(id));
  return db.$transaction(async (tx) => {
    for (const { id, ...details } of releases) {
      const event = { type: "release_published", target: `release:${id}`, details } as const;
      await recordOperatorEvent(tx, now(), operator, event);
    }
    await webhooks.record(tx, events);
    await writeCatalog();
  });
}
