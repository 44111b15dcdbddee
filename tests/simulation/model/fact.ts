/** What the simulation expects is not what the service did. `check` names the rule, and is the same for the same fault. */
export class Violation extends Error {
  constructor(
    readonly check: string,
    message: string,
  ) {
    super(`${check}: ${message}`);
  }
}

/** A fact that an unanswered request may have changed has several possible values, until an answer shows which it has. */
export class Fact<T> {
  #values: T[];
  /** What it may have been before it was set to another value. */
  former: readonly T[] = [];

  constructor(...values: T[]) {
    this.#values = values;
  }

  get possible(): readonly T[] {
    return this.#values;
  }
  /** Whether it has this value for sure. */
  is(value: T): boolean {
    return this.#values.length === 1 && this.#values[0] === value;
  }
  canBe(value: T): boolean {
    return this.#values.includes(value);
  }
  set(value: T): void {
    if (!this.is(value)) this.former = this.#values.filter((one) => one !== value);
    this.#values = [value];
  }
  restore(values: readonly T[]): void {
    this.#values = [...values];
  }
  /** A request that may set it has been sent. */
  maySet(value: T): void {
    if (!this.#values.includes(value)) this.#values.push(value);
  }
  /** An answer shows whether it has one of its possible values. */
  rule(value: T, isSo: boolean): void {
    this.#values = isSo ? [value] : this.#values.filter((one) => one !== value);
  }
}

let endings = 0;

/** Something that works until it is used or ended, and never after that. */
export class Usable {
  readonly works: Fact<boolean>;
  /** Virtual time after which it does not work. */
  expiresAtMs = Number.POSITIVE_INFINITY;
  /** When it was added, at the earliest. */
  sinceMs = 0;
  /** Of two that have ended, the later one has the higher number. */
  ending = 0;

  constructor(
    readonly kind: string,
    readonly owner: string,
    isSure = true,
  ) {
    this.works = isSure ? new Fact(true) : new Fact(true, false);
  }

  end(): void {
    if (!this.works.is(false)) this.ending = ++endings;
    this.works.set(false);
  }
  mayEnd(): void {
    this.works.maySet(false);
  }
  /** It was used, and worked or not. `nowMs`: when the request was sent. `isOnce`: what worked does not work again. */
  saw(worked: boolean, { nowMs = 0, isOnce = false } = {}): void {
    if (worked && !this.works.canBe(true)) throw new Violation(`ended ${this.kind} works`, this.owner);
    if (worked && nowMs > this.expiresAtMs) throw new Violation(`expired ${this.kind} works`, this.owner);
    if (!worked && !this.works.canBe(false) && nowMs < this.expiresAtMs)
      throw new Violation(`${this.kind} is refused`, this.owner);
    if (worked && !isOnce) this.works.set(true);
    else this.end();
  }
}

/** Whose it is. */
export type Owner = { readonly id: string | null; readonly name: string };
