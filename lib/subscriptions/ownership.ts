export type OwnerEvent = {
  id: string;
  occurredAt: Date;
  /** The owner's App User IDs, in order of precedence. */
  appUserIds: string[];
  /** The previous owner's App User IDs in a transfer; null for an event of the purchase itself. */
  transferredFrom: string[] | null;
};

/** An event that named or changed the owner, whose App User IDs it left in order of precedence, without aliases. */
export type OwnerStep<Event extends OwnerEvent = OwnerEvent> = { event: Event; appUserIds: string[] };

/**
 * Returns the App User IDs of a purchase's owner, in order of precedence. The newest event of the purchase names the
 * owner; the ids of older events follow, in case the newest ids have no account. A transfer counts only if it names the
 * owner at that time, and discards older ids. Each of `aliases` lists the ids of one customer.
 */
export function ownerAppUserIds(events: OwnerEvent[], aliases: string[][]): string[] {
  return withAliases(ownerSteps(events, aliases).at(-1)?.appUserIds ?? [], aliases);
}

/** The events that decide the owner, in the order in which they count. */
export function ownerSteps<Event extends OwnerEvent>(events: Event[], aliases: string[][]): OwnerStep<Event>[] {
  const steps: OwnerStep<Event>[] = [];
  let owner: string[] = [];
  let known: string[] = [];
  for (const event of events.toSorted(compareOwnerEvents)) {
    const { appUserIds, transferredFrom } = event;
    if (transferredFrom === null && appUserIds.length > 0) known = [...new Set([...appUserIds, ...known])];
    else if (transferredFrom !== null && withAliases(owner, aliases).some((id) => transferredFrom.includes(id))) {
      known = appUserIds;
    } else continue;
    owner = appUserIds;
    steps.push({ event, appUserIds: known });
  }
  return steps;
}

/** Sorts by time. A transfer follows the other events of the same time. */
function compareOwnerEvents(a: OwnerEvent, b: OwnerEvent): number {
  return (
    a.occurredAt.getTime() - b.occurredAt.getTime() ||
    Number(a.transferredFrom !== null) - Number(b.transferredFrom !== null) ||
    (a.id < b.id ? -1 : 1)
  );
}

/** Adds the aliases of the ids, and the aliases of those, transitively. */
export function withAliases(appUserIds: string[], aliases: string[][]): string[] {
  const found = new Set(appUserIds);
  const remaining = new Set(aliases);
  let hasGrown = true;
  while (hasGrown) {
    hasGrown = false;
    for (const group of remaining) {
      if (!group.some((id) => found.has(id))) continue;
      for (const id of group) found.add(id);
      remaining.delete(group);
      hasGrown = true;
    }
  }
  return [...found];
}
