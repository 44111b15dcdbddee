/** What an event says about whose its purchase is. `names` are the owner's, the most binding first. */
export type Claim = {
  id: string;
  occurredAt: Date;
  names: string[];
  /** Of a transfer: whoever it takes purchases from. null: an event of the purchase itself. */
  from: string[] | null;
};

/**
 * The names of a purchase's owner after all that was said, the most binding first. The newest event of the purchase names
 * its customer; what older ones name comes after, for where the newest names nobody we know. A transfer moves
 * the purchase where its customer at that moment is among those it takes from, and leaves no older name.
 * `aliases` are lists of names that are one customer's, whenever that was said.
 */
export function ownerNames(claims: Claim[], aliases: string[][]): string[] {
  const expand = (names: string[]) => withAliases(names, aliases);
  let customer: string[] = [];
  let known: string[] = [];
  for (const { names, from } of claims.toSorted(compareClaims)) {
    if (from === null && names.length > 0) {
      customer = names;
      known = [...new Set([...names, ...known])];
    } else if (from !== null && expand(customer).some((name) => from.includes(name))) {
      customer = names;
      known = names;
    }
  }
  return expand(known);
}

/** A transfer comes after what else was said at its moment. */
function compareClaims(a: Claim, b: Claim): number {
  return (
    a.occurredAt.getTime() - b.occurredAt.getTime() ||
    Number(a.from !== null) - Number(b.from !== null) ||
    (a.id < b.id ? -1 : 1)
  );
}

/** The names with all that are said to be the same customer's, over as many steps as that takes. */
function withAliases(names: string[], aliases: string[][]): string[] {
  const found = new Set(names);
  const open = new Set(aliases);
  let grown = true;
  while (grown) {
    grown = false;
    for (const group of open) {
      if (!group.some((name) => found.has(name))) continue;
      for (const name of group) found.add(name);
      open.delete(group);
      grown = true;
    }
  }
  return [...found];
}
