import { Fact, Violation } from "./fact";

/** How long a claimed delivery may be on its way, how far two clocks are apart, and how long a replaced secret is used for sure. */
const [CLAIM_MS, CLOCK_MS, ROTATION_MS] = [25_000, 2_000, 86_340_000];

/** When a delivery was claimed and sent, and whether it is signed with a secret. */
export type Delivery = { claimedAtMs: number; sentAtMs: number; isSigned: (secret: string) => boolean };

/** The endpoint that gets all events. `secrets`: those that it is signed with for sure. */
export class Endpoint {
  isBusy = false;
  readonly isEnabled = new Fact(true);
  disabledFromMs = Number.POSITIVE_INFINITY;
  secrets: { text: string; fromMs: number; untilMs?: number }[] = [];

  constructor(readonly id: string) {}
  /** A rotation is sent: the newest secret is used for a day, unless one before had no answer. */
  mayRotate(nowMs: number): void {
    const newest = this.secrets.filter(({ untilMs }) => untilMs === undefined);
    this.secrets = newest.map((one) => ({ ...one, untilMs: nowMs + ROTATION_MS }));
  }
  sawDelivery(id: string, { claimedAtMs, sentAtMs, isSigned }: Delivery): void {
    if (sentAtMs > this.disabledFromMs + CLAIM_MS) throw new Violation("webhook to a disabled endpoint", id);
    for (const { text, fromMs, untilMs = Number.POSITIVE_INFINITY } of this.secrets)
      if (claimedAtMs > fromMs + CLOCK_MS && claimedAtMs < untilMs && !isSigned(text))
        throw new Violation("webhook is not signed", id);
  }
}
