import type { Context, Tx } from "../../../context";
import { recordOperatorEvent } from "../../../platform/audit/operator-events";
import type { Operator } from "../../../principal";
import { releasePublished } from "../../../webhooks/events";

/** A release that a write of the catalog publishes; `from` is the one that it was promoted from. */
type PublishedRelease = { id: string; outcome: "added" | "changed" | "unchanged"; from?: string };

/** Records the events of releases in the transaction that publishes them. */
export async function recordPublication(
  { webhooks }: Pick<Context, "webhooks">,
  tx: Tx,
  at: Date,
  operator: Operator,
  releases: readonly PublishedRelease[],
): Promise<void> {
  for (const { id, ...details } of releases) {
    const event = { type: "release_published", target: `release:${id}`, details } as const;
    await recordOperatorEvent(tx, at, operator, event);
  }
  const added = releases.filter(({ outcome }) => outcome === "added");
  await webhooks.record(
    tx,
    added.map(({ id }) => releasePublished(id)),
  );
}
