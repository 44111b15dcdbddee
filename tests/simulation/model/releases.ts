import { Fact } from "./fact";

export class Release {
  readonly isYanked = new Fact(false);
  changedAtMs = 0;
  isBusy = false;
  /** A change had no answer. */
  isUnsure = false;

  constructor(readonly id: string) {}
}
