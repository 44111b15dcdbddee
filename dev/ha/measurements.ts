/** What is written: webhook deliveries by event, registrations by email, sign-ins by session. */
export type Kind = "events" | "emails" | "sessions";

/** What clients have seen: which writes were acknowledged, how long none was, and which reads failed. */
export class Measurements {
  /** The ids of what was acknowledged: it must be in the database from then on. */
  readonly acknowledged: Readonly<Record<Kind, Set<string>>> = {
    events: new Set(),
    emails: new Set(),
    sessions: new Set(),
  };
  readonly #lastAtMs: Record<Kind, number> = { events: Date.now(), emails: Date.now(), sessions: Date.now() };
  #longestGapMs = 0;
  #reads = 0;
  #failedReads: string[] = [];

  acknowledge(kind: Kind, id: string): void {
    this.acknowledged[kind].add(id);
    this.#longestGapMs = Math.max(this.#longestGapMs, Date.now() - this.#lastAtMs[kind]);
    this.#lastAtMs[kind] = Date.now();
  }

  countRead(failure: string | null): void {
    this.#reads += 1;
    if (failure) this.#failedReads.push(failure);
  }

  reset(): void {
    [this.#longestGapMs, this.#reads, this.#failedReads] = [0, 0, []];
  }

  /** The longest time in which one kind of write was not acknowledged, up to now, and the reads. */
  summary(): { gapMs: number; reads: number; failedReads: string[] } {
    const sinceLast = Object.values(this.#lastAtMs).map((atMs) => Date.now() - atMs);
    return { gapMs: Math.max(this.#longestGapMs, ...sinceLast), reads: this.#reads, failedReads: this.#failedReads };
  }

  /** Whether every kind of write has been acknowledged since a time. */
  hasWritesSince(atMs: number): boolean {
    return Object.values(this.#lastAtMs).every((lastAtMs) => lastAtMs > atMs);
  }
}
