import type { ListedPurchase, ProviderEvent, UnansweredGrant } from "../operations/sent";
import { type Owner, Usable, Violation } from "./fact";

/** `BILLING_STALE_LEEWAY_SECONDS`: access goes on for as long while a renewal is overdue. */
const LEEWAY_MS = 3_600_000;
/** Around an end, what a request shows depends on when it reads. */
const MARGIN_MS = 60_000;

/** A purchase: what its events say, whichever have arrived. */
export class Purchase {
  /** All events, in the order in which they happened. */
  readonly events: ProviderEvent[] = [];
  entitlements: readonly string[] = ["pro"];
  /** What the provider calls its owner, if not by the account's id. */
  customer: string | null = null;
  startedAtMs = 0;
  /** When access ends, unless it is renewed. */
  endsAtMs = Number.POSITIVE_INFINITY;
  /** Whether a renewal is expected. */
  renews = true;
  /** A charge has failed. */
  isUnpaid = false;
  isEnded = false;
  isSandbox = false;
  /** Somebody else of the family pays. */
  isFamilyShare = false;
  /** A transfer has moved it: until that arrives, another one may take it elsewhere. */
  isMoved = false;
  /** So many events are known, although not all were delivered: the service has asked the provider. */
  known = 0;

  constructor(
    public owner: Owner,
    readonly provider: string,
    readonly transaction: string,
  ) {}

  get isLifetime(): boolean {
    return this.endsAtMs === Number.POSITIVE_INFINITY;
  }
  mayBeOf(account: Owner): boolean {
    return account === this.owner || (this.isMoved && !this.isComplete());
  }
  isComplete(): boolean {
    return this.events.every(({ isAcknowledged }, i) => isAcknowledged || i < this.known);
  }
  activeAt(ms: number): boolean {
    return !this.isEnded && !this.isSandbox && ms < this.endsAtMs + (this.renews ? LEEWAY_MS : 0);
  }
  /** Whether it gives access to an account in this time; null: not known. */
  givesAccess(account: Owner, fromMs: number, untilMs: number): boolean | null {
    if (!this.isComplete()) return null;
    if (account !== this.owner) return false;
    const isActive = this.activeAt(fromMs - MARGIN_MS);
    return isActive === this.activeAt(untilMs + MARGIN_MS) ? isActive : null;
  }
}

export class Grant extends Usable {
  readonly entitlements = ["pro"];

  constructor(
    readonly id: string,
    readonly account: Owner,
    readonly endsAtMs: number,
  ) {
    super("grant", account.name);
  }
  givesAccess(_: Owner, fromMs: number, untilMs: number): boolean | null {
    if (fromMs > this.endsAtMs || this.works.is(false)) return false;
    return this.works.is(true) && untilMs < this.endsAtMs ? true : null;
  }
}

type Customer = Owner & {
  /** Also those that were transferred to another one since. */
  purchases: Purchase[];
  grants: Grant[];
  unansweredGrants: readonly UnansweredGrant[];
};

/** Those that an account has or had, and those that it may have until a transfer arrives. */
const possiblePurchases = (account: Customer, all: readonly Purchase[]) => [
  ...new Set([...account.purchases, ...all.filter((one) => one.mayBeOf(account))]),
];

/** What a status request shows: the entitlements that are active. `all`: the purchases of all accounts. */
export function sawAccess(
  account: Customer,
  all: readonly Purchase[],
  active: readonly string[],
  fromMs: number,
  untilMs: number,
): void {
  const sources = [...possiblePurchases(account, all), ...account.grants];
  for (const id of new Set([...active, ...sources.flatMap(({ entitlements }) => entitlements)])) {
    const gives = sources.map((one) =>
      one.entitlements.includes(id) ? one.givesAccess(account, fromMs, untilMs) : isKnown(one) ? false : null,
    );
    if (id === "pro" && account.unansweredGrants.length > 0) gives.push(null);
    const expected = gives.includes(true) ? true : gives.includes(null) ? null : false;
    if (expected !== null && expected !== active.includes(id))
      throw new Violation("status differs from the events", `${account.name} has ${expected ? "not " : ""}${id}`);
  }
}

/** An upgrade may have changed the entitlements. */
const isKnown = (source: Purchase | Grant) => source instanceof Grant || source.isComplete();

/** The list of an account's purchases: each is there once, and no other's. */
export function sawPurchases(
  account: Customer,
  all: readonly Purchase[],
  listed: readonly ListedPurchase[],
  fromMs: number,
  untilMs: number,
): void {
  // Grants are in the list, and refunds of single payments of a subscription, which give nothing.
  const ids = listed.flatMap(({ store, entitlements, originalTransactionId: id }) =>
    store === "PROMOTIONAL" || entitlements.length === 0 ? [] : id,
  );
  const may = new Set(possiblePurchases(account, all).map(({ transaction }) => transaction));
  const other = ids.find((id, i) => ids.indexOf(id) !== i || !may.has(id));
  if (other !== undefined) throw new Violation("purchase of another account", `${account.name} has ${other}`);
  for (const purchase of account.purchases) {
    const shown = listed.find(({ originalTransactionId }) => originalTransactionId === purchase.transaction);
    const label = `${purchase.transaction} of ${account.name}`;
    if (!purchase.isComplete()) continue;
    if (Boolean(shown) !== (purchase.owner === account))
      throw new Violation(shown ? "purchase of another account" : "purchase is lost", label);
    const isActive = purchase.givesAccess(account, fromMs, untilMs);
    if (shown && shown.isFamilyShare !== purchase.isFamilyShare)
      throw new Violation("status differs from the events", `${label} is shared, or not`);
    if (shown && isActive !== null && isActive !== shown.isActive)
      throw new Violation("status differs from the events", `${label} is ${isActive ? "not " : ""}active`);
    const { endsAtMs, isLifetime, renews } = purchase;
    const willRenew = renews && !isLifetime;
    if (isActive && untilMs < endsAtMs - MARGIN_MS && shown?.willRenew !== willRenew)
      throw new Violation("status differs from the events", `${label} ${willRenew ? "does not renew" : "renews"}`);
  }
}
