import { Usable, Violation } from "./fact";

/** A key of the admin API. */
export class ApiKey extends Usable {
  isBusy = false;
  /** A request that revokes it had no answer. */
  isUnsure = false;

  constructor(
    readonly id: string,
    readonly key: string,
    readonly scopes: readonly string[] = [],
    readonly products: readonly string[] = [],
  ) {
    super("key", id);
  }
  /** A request that requires a scope was sent, and answered with this status. */
  sawRequest(scope: string, status: number, sentAtMs: number, answeredAtMs: number): void {
    // Clocks of processes differ by some seconds.
    if (sentAtMs > this.expiresAtMs + 10_000) {
      if (status !== 401) throw new Violation("expired key works", `${this.id}: ${status}`);
    } else if (answeredAtMs < this.expiresAtMs - 10_000) {
      this.saw(status !== 401);
      if (status !== 401 && (status === 403) === this.scopes.includes(scope))
        throw new Violation("key does what its scopes do not say", `${this.scopes} ${scope}: ${status}`);
    }
  }
}
