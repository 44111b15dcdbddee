import { Fact, type Owner, Usable, Violation } from "./fact";

/** A claimed notification may be on its way for so long, and the clocks of two instances differ. */
const CLAIM_MS = 20_000;

/** A browser or a phone that gets notifications. `address`: its endpoint or token. */
export class Device extends Usable {
  /** Its app was removed, and the push service says so. */
  isGone = false;
  /** Whether it was active when its owner last listed the devices. */
  isListed = false;
  /** Its registration was acknowledged. */
  isVerified = false;

  constructor(
    readonly account: Owner & { readonly mutedFromMs: number },
    public session: Usable,
    readonly address: string,
    readonly id: string,
    readonly locale: string,
  ) {
    super("device", account.name);
  }
  verified(): void {
    this.works.set(true);
    this.isVerified = true;
  }
  listed(isActive: boolean): void {
    this.saw(isActive);
    this.isListed = isActive;
    if (this.isGone) this.mayEnd(); // the push service says so at the next message
  }
}

/** What an operator sends, and what devices get of it. It works until it is canceled. */
export class Message extends Usable {
  /** By which it can be canceled. */
  id: string | null = null;
  /** Its request, with an Idempotency-Key, and its event in the audit trail. null: it was answered. */
  unanswered: { label: string; sent: object; audit: { done: () => void; refused: () => void } } | null = null;
  /** Those that have to get it, unless they are removed. */
  due: readonly Device[] = [];
  /** Accounts that may have turned messages off since. */
  readonly mutedBy = new Set<Owner>();
  /** Whether its account exists: with an account its messages are deleted. */
  exists = new Fact(true);
  readonly #ended: ReadonlySet<Device>;
  readonly #received = new Map<Device, number>();
  /** When it was stored at the latest: its life begins then, if not later. */
  storedByMs = Number.POSITIVE_INFINITY;
  /** When the cancellation was acknowledged. */
  canceledAtMs = Number.POSITIVE_INFINITY;

  constructor(
    readonly text: string,
    readonly sendAtMs: number,
    readonly expiresAfterMs: number,
    devices: readonly Device[],
    readonly isFor: (device: Device) => boolean,
  ) {
    super("message", text);
    this.#ended = new Set(devices.filter(({ works }) => works.is(false)));
  }

  mayReach(device: Device): boolean {
    return this.isFor(device) && !this.#ended.has(device);
  }
  hasReached(device: Device): boolean {
    return this.#received.has(device);
  }
  reached(device: Device, nowMs: number): void {
    const label = `${this.text} to ${device.account.name}`;
    if (!this.mayReach(device)) throw new Violation("notification to another device", label);
    if (nowMs > this.canceledAtMs + CLAIM_MS) throw new Violation("canceled notification is sent", label);
    if (nowMs > device.account.mutedFromMs + CLAIM_MS)
      throw new Violation("notification that is turned off is sent", label);
    if (nowMs < this.sendAtMs - CLAIM_MS) throw new Violation("notification before its time", label);
    const lateMs = nowMs - (Math.max(this.sendAtMs, this.storedByMs) + this.expiresAfterMs);
    if (lateMs > CLAIM_MS) throw new Violation("expired notification is sent", `${label}, ${lateMs} ms late`);
    this.#received.set(device, (this.#received.get(device) ?? 0) + 1);
  }
  /** At the end. `isOnce`: nothing has failed. */
  check(isOnce: boolean): void {
    for (const device of this.works.is(true) ? this.due : [])
      if (device.works.is(true) && !device.isGone && !this.mutedBy.has(device.account) && !this.#received.has(device))
        throw new Violation("notification is not delivered", `${this.text} to ${device.account.name}`);
    for (const [{ account }, count] of this.#received)
      if (isOnce && count > 1)
        throw new Violation("notification is delivered twice", `${this.text} to ${account.name}`);
  }
}
