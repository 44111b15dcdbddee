import { type Owner, Usable } from "./fact";

/** A browser that gets notifications. */
export class Device extends Usable {
  /** Messages that it has to get, and those that it may get besides. */
  due = 0;
  extra = 0;

  constructor(
    readonly account: Owner,
    public session: Usable,
    readonly endpoint: string,
  ) {
    super("device", account.name);
  }
}
