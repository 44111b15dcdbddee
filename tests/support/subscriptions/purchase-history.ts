const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
const START = Date.UTC(2026, 0, 1);
const MONTH_MS = 30 * DAY_MS;
const GRACE_DAYS = 16;

/** What each product gives, as an operator has mapped it. */
const ENTITLEMENTS: Record<string, string[]> = { monthly: ["pro"], yearly: ["cloud", "pro"], donation: [] };

/** An event as RevenueCat delivers it ("Webhooks", Event Types and Fields), as far as access follows from it. */
export type Payload = {
  id: string;
  type: string;
  event_timestamp_ms: number;
  purchased_at_ms: number;
  expiration_at_ms: number | null;
  grace_period_expiration_at_ms?: number;
  auto_resume_at_ms?: number;
  entitlement_ids: string[] | null;
  product_id: string;
  new_product_id?: string;
  period_type: string;
  cancel_reason?: string;
  expiration_reason?: string;
  price: number;
};
type Period = { purchasedAt: number; end: number | null; product: string; type: string };
type Subscription = Period & { end: number; next: string; renews: boolean; resumesAt: number | null };

const REFUND = { cancel_reason: "CUSTOMER_SUPPORT", price: -4.99 };

/**
 * One purchase as RevenueCat documents it ("Common Webhook Flows", "Handling Refunds", "Billing Issues & Grace Periods"):
 * its events, in order, and from when on it gave access to what. Each number of `choices` decides what happens next.
 */
export class PurchaseHistory {
  readonly events: Payload[] = [];
  private readonly access: { fromMs: number; entitlements: string[] }[] = [];
  private now = START;
  private read = 0;

  constructor(private readonly choices: number[]) {
    const kind = this.choose("subscription", "one-time purchase", "temporary grant");
    if (kind === "subscription") this.subscribe(START);
    else if (kind === "one-time purchase") this.buyOnce();
    else this.subscribeUnvalidated();
  }

  /** What the purchase gives access to at a moment, by what happened to it until then. */
  accessAt(atMs: number): string[] {
    return this.access.filter(({ fromMs }) => fromMs <= atMs).at(-1)?.entitlements ?? [];
  }

  private choose<T>(...options: [T, ...T[]]): T {
    return options[this.next() % options.length] ?? options[0];
  }

  private wait(mostHours: number): void {
    this.now += (1 + (this.next() % mostHours)) * HOUR_MS;
  }

  private next(): number {
    this.read += 1;
    return this.choices[this.read - 1] ?? 0;
  }

  private give({ product }: Period): void {
    this.access.push({ fromMs: this.now, entitlements: ENTITLEMENTS[product] ?? [] });
  }

  private take(fromMs = this.now): void {
    this.access.push({ fromMs, entitlements: [] });
  }

  private emit(type: string, { purchasedAt, end, product, type: periodType }: Period, more: Partial<Payload> = {}) {
    const entitlements = ENTITLEMENTS[product] ?? [];
    this.events.push({
      id: String(this.events.length).padStart(3, "0"),
      type,
      event_timestamp_ms: this.now,
      purchased_at_ms: purchasedAt,
      expiration_at_ms: end,
      entitlement_ids: entitlements.length > 0 ? entitlements : null,
      product_id: product,
      period_type: periodType,
      price: 4.99,
      ...more,
    });
  }

  /** A purchase that does not renew, or an entitlement granted by the developer. */
  private buyOnce(): void {
    const period: Period = {
      purchasedAt: this.now,
      end: this.choose(null, this.now + 90 * DAY_MS),
      product: this.choose("yearly", "monthly"),
      type: this.choose("NORMAL", "PROMOTIONAL"),
    };
    this.emit("NON_RENEWING_PURCHASE", period);
    this.give(period);
    this.wait(100 * 24);
    if (period.end !== null && this.now >= period.end) this.emit("EXPIRATION", period);
    else if (this.choose(true, false)) this.takeAway(period);
    if (period.end !== null) this.take(period.end);
  }

  private takeAway(period: Period): void {
    const expiry = { expiration_at_ms: this.choose(period.end, null, this.now) };
    const removal = period.type === "PROMOTIONAL" ? { cancel_reason: "DEVELOPER_INITIATED" } : REFUND;
    this.emit("CANCELLATION", period, { ...expiry, ...removal });
    if (this.choose(true, false)) this.emit("EXPIRATION", period, expiry);
    this.take();
    if (period.type === "PROMOTIONAL" || this.choose(true, false)) return;
    this.now += 60_000;
    this.emit("REFUND_REVERSED", period);
    this.give(period);
  }

  /** The store is out of reach: access for a day, unless there was no purchase. The store may date it before. */
  private subscribeUnvalidated(): void {
    const grantedAt = this.now;
    const grant: Period = { purchasedAt: grantedAt, end: grantedAt + DAY_MS, product: "monthly", type: "NORMAL" };
    this.emit("TEMPORARY_ENTITLEMENT_GRANT", grant);
    this.give(grant);
    this.wait(23);
    if (this.choose(true, false)) this.subscribe(this.choose(grantedAt - 60_000, grantedAt, this.now));
    else this.refuse(grant);
  }

  private refuse(grant: Period): void {
    this.emit("EXPIRATION", grant, { expiration_at_ms: this.choose(this.now, grant.end) });
    this.take();
  }

  private subscribe(purchasedAt: number): void {
    let subscription = this.begin("INITIAL_PURCHASE", this.choose("monthly", "yearly"), purchasedAt);
    for (let periods = 1; periods < 5; periods += 1) {
      const goesOn = this.isKeptUntilItsEnd(subscription) && this.isRenewed(subscription);
      if (!goesOn) {
        if (this.choose(true, false)) return;
        this.wait(40 * 24);
      }
      const type = goesOn ? "RENEWAL" : this.choose("RENEWAL", "INITIAL_PURCHASE");
      subscription = this.begin(type, subscription.next, this.now);
    }
    this.take(subscription.end); // no further event arrives
  }

  private begin(type: string, product: string, purchasedAt: number): Subscription {
    const kind = type === "INITIAL_PURCHASE" ? this.choose("NORMAL", "TRIAL", "INTRO") : "NORMAL";
    const period = { purchasedAt, end: this.now + MONTH_MS, product, type: kind };
    this.emit(type, period);
    this.give(period);
    return { ...period, next: product, renews: true, resumesAt: null };
  }

  /** Up to three things that happen in a period. False where it was revoked, and not given back. */
  private isKeptUntilItsEnd(subscription: Subscription): boolean {
    const happenings = ["unsubscribe", "come back", "extend", "change", "pause", "refund a part"] as const;
    for (let left = this.choose(0, 1, 2, 3); left > 0; left -= 1) {
      this.wait(9 * 24);
      if (this.now >= subscription.end) return true;
      const what = this.choose(...happenings, "refund");
      if (what !== "refund") this.happen(what, subscription);
      else if (!this.isGivenBack(subscription)) return false;
    }
    return true;
  }

  private happen(what: string, subscription: Subscription): void {
    if (what === "unsubscribe" && subscription.renews) {
      subscription.renews = false;
      this.emit("CANCELLATION", subscription, {
        cancel_reason: this.choose("UNSUBSCRIBE", "PRICE_INCREASE", "UNKNOWN"),
      });
    } else if (what === "come back" && !subscription.renews) {
      Object.assign(subscription, { renews: true, resumesAt: null });
      this.emit("UNCANCELLATION", subscription);
    } else if (what === "extend") {
      subscription.end += 7 * DAY_MS;
      this.emit("SUBSCRIPTION_EXTENDED", subscription);
    } else if (what === "change") {
      subscription.next = this.choose("yearly", "monthly", "donation");
      this.emit("PRODUCT_CHANGE", subscription, { new_product_id: subscription.next });
    } else if (what === "pause" && subscription.renews) {
      subscription.resumesAt = subscription.end + MONTH_MS;
      this.emit("SUBSCRIPTION_PAUSED", subscription, { auto_resume_at_ms: subscription.resumesAt });
    } else if (what === "refund a part") {
      this.emit("CANCELLATION", subscription, REFUND);
    }
  }

  /** A refund that revokes, and whether it is reversed before the period would have ended. */
  private isGivenBack(subscription: Subscription): boolean {
    const past = { expiration_at_ms: this.choose(this.now, this.now - 60_000, null) };
    this.emit("CANCELLATION", subscription, { ...REFUND, ...past });
    if (this.choose(true, false)) {
      this.emit("EXPIRATION", subscription, { ...past, expiration_reason: "CUSTOMER_SUPPORT" });
    }
    this.take();
    this.wait(48);
    if (this.now >= subscription.end || this.choose(true, false)) return false;
    this.emit("REFUND_REVERSED", subscription);
    this.give(subscription);
    return true;
  }

  /** The end of a period. False where no other follows at once. */
  private isRenewed(subscription: Subscription): boolean {
    this.now = Math.max(this.now, subscription.end);
    if (!subscription.renews) {
      this.take();
      this.now += this.choose(0, HOUR_MS);
      this.emit("EXPIRATION", subscription, { expiration_reason: "UNSUBSCRIBE" });
      return false;
    }
    if (subscription.resumesAt === null) return this.choose(true, false) || this.isPaidAtLast(subscription);
    this.take();
    this.emit("EXPIRATION", subscription, { expiration_reason: "SUBSCRIPTION_PAUSED" });
    this.now = subscription.resumesAt;
    return true;
  }

  /**
   * A charge fails, with a grace period or without. RevenueCat's expiry moves with the grace period, or the field of the
   * grace period alone tells of it; BILLING_ISSUE "can be safely ignored if listening to CANCELLATION".
   */
  private isPaidAtLast(subscription: Subscription): boolean {
    const hasGrace = this.choose(true, false);
    const end = this.now + (hasGrace ? GRACE_DAYS * DAY_MS : 0);
    const expiry = { expiration_at_ms: this.choose(end, subscription.end) };
    const isNamed = hasGrace && (expiry.expiration_at_ms !== end || this.choose(true, false));
    if (isNamed) this.emit("BILLING_ISSUE", subscription, { ...expiry, grace_period_expiration_at_ms: end });
    this.emit("CANCELLATION", subscription, { ...expiry, cancel_reason: "BILLING_ERROR" });
    if (hasGrace) this.wait((GRACE_DAYS + 4) * 24);
    if (this.now < end) return true;
    this.take(end);
    this.emit("EXPIRATION", subscription, { expiration_at_ms: end, expiration_reason: "BILLING_ERROR" });
    return false;
  }
}
