import { Fact, Violation } from "./fact";

const MINUTE_MS = 60_000;
/** How long deliveries are also signed with the secret before. */
const ROTATION_MS = 24 * 60 * MINUTE_MS;
/** A delivery that is claimed may be on its way for so long. */
const CLAIM_MS = 25_000;
/** Two clocks of a process differ by less. */
const CLOCK_MS = 2_000;

/** A delivery: when it was claimed and sent, and whether it is signed with a secret. */
export type Delivery = { claimedAtMs: number; sentAtMs: number; isSigned: (secret: string) => boolean };

/** The endpoint that gets all events. */
export class Endpoint {
  isBusy = false;
  readonly isEnabled = new Fact(true);
  disabledFromMs = Number.POSITIVE_INFINITY;
  /** Those that deliveries are signed with for sure. */
  #secrets: { text: string; fromMs: number; untilMs: number }[] = [];

  constructor(
    readonly id: string,
    secret: string,
  ) {
    this.addSecret(secret, 0);
  }
  addSecret(text: string, fromMs: number): void {
    this.#secrets.push({ text, fromMs, untilMs: Number.POSITIVE_INFINITY });
  }
  /** A rotation is sent: the newest secret remains for a day, unless one before may have been applied. */
  mayRotate(nowMs: number): void {
    this.#secrets = this.#secrets
      .filter(({ untilMs }) => untilMs === Number.POSITIVE_INFINITY)
      .map((one) => ({ ...one, untilMs: nowMs + ROTATION_MS - MINUTE_MS }));
  }
  sawDelivery(id: string, { claimedAtMs, sentAtMs, isSigned }: Delivery): void {
    if (sentAtMs > this.disabledFromMs + CLAIM_MS) throw new Violation("webhook to a disabled endpoint", id);
    for (const { text, fromMs, untilMs } of this.#secrets)
      if (claimedAtMs > fromMs + CLOCK_MS && claimedAtMs < untilMs && !isSigned(text))
        throw new Violation("webhook is not signed", id);
  }
}
