import { type Owner, Usable, Violation } from "./fact";

/** How long after the end of a period access may continue: `BILLING_STALE_LEEWAY_SECONDS` and a day of billing retries. */
const GRACE_MS = 40 * 24 * 3_600_000;

/** A store's subscription: what its events say, whichever have arrived. */
export class Purchase {
  /** All events, in the order in which they happened. */
  readonly events: { body: Record<string, unknown>; isAcknowledged: boolean }[] = [];
  period = 1;
  startedAtMs = 0;
  /** When access ends by the events. */
  endsAtMs = 0;
  isCanceled = false;
  isEnded = false;

  constructor(
    readonly account: Owner,
    readonly transaction: string,
  ) {}

  isComplete(): boolean {
    return this.events.every(({ isAcknowledged }) => isAcknowledged);
  }
  /** null: a renewal is due, and the service may wait for it. */
  isActive(nowMs: number): boolean | null {
    if (this.isEnded || this.events.length === 0) return false;
    if (nowMs < this.endsAtMs) return true;
    return nowMs < this.endsAtMs + GRACE_MS ? null : false;
  }
}

export class Grant extends Usable {
  constructor(
    readonly id: string,
    readonly account: Owner,
    readonly endsAtMs: number,
  ) {
    super("grant", account.name);
  }
}

/** What a status request shows: an entitlement that is active, or not. */
export function sawAccess(
  {
    name,
    purchases,
    grants,
    mayHaveUnknownGrant,
  }: Owner & { purchases: Purchase[]; grants: Grant[]; mayHaveUnknownGrant: boolean },
  isActive: boolean,
  nowMs: number,
): void {
  if (mayHaveUnknownGrant) return;
  const facts = [
    ...purchases.map((purchase) => (purchase.isComplete() ? purchase.isActive(nowMs) : null)),
    ...grants.map(({ works, endsAtMs }) =>
      nowMs > endsAtMs ? false : works.is(true) ? true : works.is(false) ? false : null,
    ),
  ];
  const expected = facts.includes(true) ? true : facts.includes(null) ? null : false;
  if (expected !== null && expected !== isActive)
    throw new Violation("status differs from the events", `${name} is ${isActive ? "" : "not "}active`);
}
