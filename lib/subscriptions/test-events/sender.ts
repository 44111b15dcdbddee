import type { Config } from "../../platform/config";
import type { PurchaseStatus } from "../schema";
import type { TestChange, TestEventType } from "./test-change";

/** A provider whose deliveries the configured secrets can sign. */
export type Sender = {
  store: string;
  /** Of the times of its events. */
  precisionMs: number;
  /** The provider's id of the test subscription. */
  purchaseIdOf: (key: string) => string;
  /** Whether an id may be one of the provider's products. */
  isProductId: (id: string) => boolean;
  /** What is sold where no product is known. */
  defaultProductIds: readonly [string, string];
  /** The settings with the secrets that sign events of the sandbox. */
  settings: string;
  isConfigured: (config: Config) => boolean;
  events: Record<TestEventType, EventText>;
  bodyOf: (change: TestChange) => unknown;
  headersOf: (config: Config, signed: { id: string; raw: Uint8Array; now: Date }) => Record<string, string>;
};

/** A provider's own name of an event, what the event does, and the status of the subscription after it. */
type EventText = { event: string; status: PurchaseStatus["status"]; effect: string };
type Effect = Omit<EventText, "event">;

const EFFECTS: Record<TestEventType, Effect> = {
  INITIAL_PURCHASE: { status: "active", effect: "The subscription starts, for 30 days." },
  RENEWAL: { status: "active", effect: "The next 30 days are paid. A failed charge is settled." },
  CANCELLATION: { status: "canceled", effect: "The renewal is off. Access stays until the period ends." },
  UNCANCELLATION: { status: "active", effect: "The renewal is on again." },
  BILLING_ISSUE: { status: "grace_period", effect: "The period ends and its renewal fails. Access stays for 16 days." },
  EXPIRATION: { status: "expired", effect: "The subscription and its access end." },
  REFUND: { status: "revoked", effect: "The payment is refunded, and access ends." },
  PRODUCT_CHANGE: { status: "active", effect: "The next RENEWAL is of another product." },
};

/** What differs where each event has the whole state of a subscription. */
const EFFECTS_OF_STATES: Partial<typeof EFFECTS> = {
  BILLING_ISSUE: { status: "grace_period", effect: "A period of 30 days begins unpaid. Access stays until it ends." },
  REFUND: { status: "active", effect: "The payment is refunded. That ends no subscription: send EXPIRATION, too." },
  PRODUCT_CHANGE: { status: "active", effect: "The subscription is to another product at once." },
};

/** Names the events of a provider. */
export function eventTexts(names: Record<TestEventType, string>, kind: "changes" | "states") {
  const effects = { ...EFFECTS, ...(kind === "states" ? EFFECTS_OF_STATES : {}) };
  const texts = Object.entries(effects).map(([type, effect]) => [
    type,
    { event: names[type as TestEventType], ...effect },
  ]);
  return Object.fromEntries(texts) as Record<TestEventType, EventText>;
}
