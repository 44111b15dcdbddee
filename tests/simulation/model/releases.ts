import { Fact, Violation } from "./fact";

/** Of a client: the lowest percentage of a release that has included it, and the highest that has not. */
type Reach = { included: number; excluded: number };

/** A build in the catalog. */
export class Release {
  readonly exists = new Fact(false, true);
  readonly isYanked = new Fact(false);
  readonly isAdmitted: Fact<boolean>;
  /** The catalog's percentage of clients, and the schedule that replaces it. */
  readonly percentage = new Fact(100);
  readonly rollout = new Fact<Rollout | null>(null);
  readonly reaches = new Map<string, Reach>();
  /** How edits of the file have changed it, of which the audit trail has nothing. */
  readonly edited = { isYanked: 0 };

  constructor(
    readonly product: Product,
    readonly platform: string,
    readonly channel: string,
    readonly number: number,
    readonly id: string,
    readonly fileName: string,
    readonly sha256: string,
  ) {
    this.isAdmitted = new Fact(!product.needsApproval);
  }

  get version(): string {
    return `1.${this.number}.0`;
  }
  /** The same build on the channel stable. */
  promoted(): Release {
    const { product, platform, number, id, fileName, sha256 } = this;
    const promoted = new Release(product, platform, "stable", number, `${id}-stable`, fileName, sha256);
    promoted.exists.set(false);
    return promoted;
  }
  isSameBuild({ platform, number }: Release): boolean {
    return this.platform === platform && this.number === number;
  }
  canBeOffered(): boolean {
    return this.exists.canBe(true) && this.isYanked.canBe(false) && this.isAdmitted.canBe(true);
  }
  isOffered(): boolean {
    return this.exists.is(true) && this.isYanked.is(false) && this.isAdmitted.is(true);
  }
  /** The percentages of clients that it may be offered to now. */
  percentages(nowMs: number): number[] {
    return this.rollout.possible.flatMap((rollout) =>
      rollout ? rollout.percentages(nowMs) : [...this.percentage.possible],
    );
  }
}

/** By how much the clock may have been set back. */
const CLOCK_MS = 1_000;

type RolloutState = "running" | "halted" | "completed";

/** A schedule of percentages. */
export class Rollout {
  readonly state = new Fact<RolloutState>("running");
  /** It has come to this step, at least. */
  step = 0;
  /** It may have been completed, and stays at the last step whatever comes after that. */
  mayBeAtLast = false;
  /** An operator has halted it: nobody else resumes it. */
  isHeld = false;
  id = "";

  constructor(
    readonly release: Release,
    readonly steps: readonly number[],
    readonly everySeconds: number,
    public startedAtMs: number,
    /** What the catalog has meanwhile. */
    readonly initial = steps[0] ?? 0,
  ) {}

  lastStep(nowMs: number): number {
    const passedMs = Math.max(0, nowMs + CLOCK_MS - this.startedAtMs);
    const passed = Math.floor(passedMs / (this.everySeconds * 1000));
    return this.mayBeAtLast ? this.steps.length - 1 : Math.min(passed, this.steps.length - 1);
  }
  percentages(nowMs: number): number[] {
    const { state, steps, release } = this;
    if (nowMs + CLOCK_MS < this.startedAtMs) return [0];
    const served = state.is("halted")
      ? []
      : steps.slice(state.is("completed") ? -1 : this.step, this.lastStep(nowMs) + 1);
    // A process that has not read the schedules yet offers what the catalog has.
    const unread = release.product.catalog.isFresh ? [] : [this.initial];
    return [...served, ...(state.canBe("halted") ? [0] : []), ...unread];
  }
  saw(state: string, step: number, nowMs: number): void {
    const isOver = nowMs >= this.startedAtMs + this.everySeconds * 1000 * this.steps.length;
    const isSo =
      this.state.canBe(state as RolloutState) || (state === "completed" && isOver && this.state.canBe("running"));
    if (!isSo) throw new Violation("rollout is not as it was set", `${this.release.id} is ${state}`);
    if (step < this.step || step > this.lastStep(nowMs))
      throw new Violation("rollout is at a wrong step", `${step}, not ${this.step} to ${this.lastStep(nowMs)}`);
    this.step = step;
  }
}

/** Requests that change a product's releases follow each other. */
export class Product {
  readonly releases: Release[] = [];
  readonly rollouts: Rollout[] = [];
  isBusy = false;
  /** Counts what may have changed it: what is seen meanwhile is not judged. */
  changes = 0;
  number = 0;

  constructor(
    readonly catalog: Catalog,
    readonly name: string,
    readonly platforms: readonly string[],
    readonly needsApproval: boolean,
  ) {}

  /** What a client was offered. null: nothing. */
  sawOffer(client: { id: string; platform: string; channel: string }, offered: Release | null, nowMs: number): void {
    const candidates = this.releases
      .filter(
        ({ platform, channel }) => platform === client.platform && (channel === "stable" || channel === client.channel),
      )
      .sort((a, b) => b.number - a.number || Number(b === offered) - Number(a === offered));
    let rollouts = 0;
    for (const release of candidates) {
      const reach = release.reaches.get(client.id) ?? { included: 100, excluded: 0 };
      release.reaches.set(client.id, reach);
      const percentages = release.percentages(nowMs);
      const [least, most] = [Math.min(...percentages), Math.max(...percentages)];
      if (release === offered) {
        if (!release.canBeOffered())
          throw new Violation(
            `${release.isYanked.is(true) ? "yanked" : "unapproved or removed"} release is offered`,
            release.id,
          );
        if (most <= reach.excluded)
          throw new Violation("rollout includes a client too early", `${release.id} ${client.id}`);
        reach.included = Math.min(reach.included, most);
        return;
      }
      if (!release.isOffered()) continue;
      if (least >= reach.included && rollouts < MAX_ROLLOUTS)
        throw new Violation(
          "release is not offered",
          `${release.id} at ${least} % to ${client.id}, included at ${reach.included} %, but ${offered?.id ?? "nothing"}`,
        );
      if (rollouts < MAX_ROLLOUTS) reach.excluded = Math.max(reach.excluded, least);
      rollouts += 1;
    }
    if (offered) throw new Violation("release of another channel is offered", offered.id);
  }
}
/** Of more rollouts at the same time, the oldest are offered to nobody. */
const MAX_ROLLOUTS = 4;

/** A file that arrives in parts. */
export class Upload {
  readonly exists = new Fact(true);
  sentBytes = 0;
  acknowledgedBytes = 0;

  constructor(
    readonly id: string,
    public writtenAtMs: number,
  ) {}

  /** `offset` null: it is gone. */
  saw(offset: number | null, nowMs: number): void {
    if (offset === null && !this.exists.canBe(false) && nowMs < this.writtenAtMs + DAY_MS)
      throw new Violation("upload is lost", this.id);
    if (offset !== null && !this.exists.canBe(true)) throw new Violation("published upload is there", this.id);
    this.exists.set(offset !== null);
    if (offset !== null && (offset < this.acknowledgedBytes || offset > this.sentBytes))
      throw new Violation("upload has lost bytes", `${offset}, not ${this.acknowledgedBytes} to ${this.sentBytes}`);
    if (offset !== null) this.acknowledgedBytes = offset;
  }
}
const DAY_MS = 86_400_000;

/** The catalog of releases, and who changes it. */
export class Catalog {
  readonly products = [
    new Product(this, "desk", ["windows-x64", "macos-universal"], false),
    new Product(this, "vault", ["windows-x64"], true),
  ];
  readonly uploads: Upload[] = [];
  /** Of clients, about updates. */
  readonly reports = { sent: 0, acknowledged: 0 };
  /** The key that publishes, and the password of the admin who has made it. */
  key = "";
  password = "";
  /** Whether this process has read the schedules. */
  isFresh = true;
  /** A change had no answer: it may be completed later. */
  isUnsure = false;

  /** The process has ended. */
  lose(): void {
    this.isFresh = false;
    this.isUnsure = true;
    // Of a published upload the removal may be lost. It is removed a day later.
    for (const { exists } of this.uploads) exists.maySet(true);
    for (const product of this.products) {
      product.isBusy = false;
      product.changes += 1;
    }
  }
  find(product: string, platform: string, channel: string, version: string): Release | undefined {
    return this.products
      .find(({ name }) => name === product)
      ?.releases.find((one) => one.platform === platform && one.channel === channel && one.version === version);
  }
}
