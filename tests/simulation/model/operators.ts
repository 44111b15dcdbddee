import { Usable } from "./fact";

/** A key of the admin API. */
export class ApiKey extends Usable {
  isBusy = false;
  /** A request that revokes it had no answer. */
  isUnsure = false;

  constructor(
    readonly id: string,
    readonly key: string,
  ) {
    super("key", id);
  }
}
