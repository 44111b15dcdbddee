import { Usable } from "../model/fact";

/** An access token of a job. */
export type Access = { token: string; expiresAtMs: number };

/** A workflow that publishes releases of a product without a key. */
export class Publisher extends Usable {
  isBusy = false;
  /** A request that removes it had no answer. */
  isUnsure = false;
  /** The id of its repository was that of an ID token that was accepted. */
  isPinned = false;
  readonly access: Access[] = [];
  /** ID tokens that were exchanged. */
  readonly used: string[] = [];
  issued = { acknowledged: 0, unknown: 0 };

  constructor(
    readonly id: string,
    readonly product: string,
    readonly channel: string | null,
    readonly number: number,
  ) {
    super("publisher", id);
  }
  get claims(): Record<string, unknown> {
    return {
      repository: `acme/app-${this.number}`,
      repository_id: `${1_000 + this.number}`,
      repository_owner_id: "65",
    };
  }
}
