import { createHash } from "node:crypto";
import { disk } from "./disk";
import { Instances, type Server } from "./instances";
import { machine } from "./machine";
import { Violation } from "./model/fact";
import { Model } from "./model/model";
import { checkAll, checkExpired, checkLater, domains, finishAll, look, readEmails, setUp } from "./operations/all";
import { backUp } from "./operations/backups";
import { type Operation, Step } from "./operations/operation";
import { createRandom, type Random } from "./random";
import { type Port, World } from "./world";

export type SeedInput = {
  seed: number;
  /** The steps to run; the others are left out. */
  steps: number[] | null;
  length: number;
};
export type SeedResult = {
  seed: number;
  length: number;
  /** How many requests it has sent. */
  operations: number;
  faults: number;
  coverage: Record<string, number>;
  ms: number;
  hash: string;
  trace: string[];
  failure: { check: string; message: string; step: number } | null;
};

const SECOND_MS = 1_000;
const HOUR_MS = 3_600 * SECOND_MS;
const DAY_MS = 24 * HOUR_MS;
/** What is free on a disk that is full: below 64 MB the service refuses writes. */
const FREE_BYTES = [0, 0, 20, 70].map((megabytes) => megabytes * 2 ** 20);
/** By how much the clock is set forth or back: less than what lies between two events of a store. */
const MAX_CLOCK_OFF_MS = 400;
const NETWORK: ReadonlySet<Port> = new Set(["mail", "push", "fetch"]);
/** How time passes at the end: longer than the longest wait between two attempts of anything, until nothing is left. */
const DRAIN_SECONDS = [31, 31, 61, 301, 601, 1_201, 3_601, 3_601, 7_201, 21_601, 43_201];

/** How many answered requests may be in memory: what has just run may refer to one. */
const MAX_REQUESTS_AT_REST = 3;
/** How long a request may take. */
const REQUEST_LIMIT_MS = HOUR_MS;

/** What a seed decides for its whole run. */
type Plan = {
  concurrency: number;
  faultChance: number;
  networkChance: number;
  crashChance: number;
  operations: Operation[];
  diskChance: number;
  clockChance: number;
  /** How long passes at most when time passes. */
  longestSeconds: number;
  /** How many days after all of it everything is looked up again: each time after the one before. */
  laterDays: readonly number[];
  /** Whether a backup is restored then. */
  isRestored: boolean;
};

/** A browser's session, and an app's, are used until their last day as often as keeps them from being idle. */
const LATER_DAYS = [[], [], [], [], [1], [10], [6, 12, 18, 24, 29, 34, 40], [25, 50, 75, 100]];
/** How much less often a seed that is about some domains does what is of others. */
const OUT_OF_FOCUS = 0.1;

function planOf(random: Random): Plan {
  /** The domains that most operations are of. */
  const focus = random.shuffle(domains).slice(0, random.pick([1, 2, 2, domains.length]));
  return {
    concurrency: random.pick([1, 1, 1, 2, 3, 5]),
    faultChance: random.pick([0, 0.002, 0.01, 0.05]),
    networkChance: random.pick([0, 0.05, 0.3]),
    crashChance: random.pick([0, 0, 0.0005, 0.001]),
    // Some operations often and others never ("swarm testing", Groce et al. 2012): what happens only between two of them is soon seen.
    operations: domains.flatMap((operations) => {
      const share = focus.includes(operations) ? 1 : OUT_OF_FOCUS;
      const factorOf = (name: string) => (name === "register" ? 1 : share * random.pick([0, 0.3, 1, 3]));
      return operations.map((one) => ({ ...one, weight: one.weight * factorOf(one.name) }));
    }),
    diskChance: random.pick([0, 0, 0, 0.02]),
    clockChance: random.pick([0, 0, 0, 0.02]),
    longestSeconds: random.pick([600, 600, 7_200]),
    laterDays: random.pick(LATER_DAYS),
    isRestored: random.chance(0.3),
  };
}

/** How much more often the process ends after an answer than elsewhere: what was acknowledged could be lost there. */
const CRASHES_AFTER_ANSWERS = 10;
/** How many operations a step tries before it does nothing: most need something that others have made. */
const TRIES = 4;

/** Runs one seed to its end, or to the first violation. */
export async function runSeed(input: SeedInput, folder: string, server: Server | null): Promise<SeedResult> {
  const startedMs = machine.realNowMs();
  const world = server ? new Instances(folder, server, input.seed) : new World(folder, input.seed);
  const run = new Run(input, world);
  let failure: SeedResult["failure"] = null;
  try {
    await run.all();
  } catch (error) {
    const check = error instanceof Violation ? error.check : "error";
    failure = { check, message: (error as Error).stack ?? String(error), step: run.step };
    run.note(`VIOLATION ${(error as Error).message}`);
    failure.message += `\n${run.log.slice(-3).join("\n")}`;
  }
  await world.stop(createRandom(input.seed));
  const { faults, coverage, trace } = run;
  const hash = createHash("sha256").update(trace.join("\n")).digest("hex").slice(0, 16);
  return {
    seed: input.seed,
    length: input.length,
    operations: world.requests,
    faults,
    coverage,
    ms: machine.realNowMs() - startedMs,
    hash,
    trace,
    failure,
  };
}

class Run {
  coverage: Record<string, number> = {};
  trace: string[] = [];
  step = -1;
  readonly #input: SeedInput;
  readonly #world: World;
  readonly #model = new Model();
  readonly #plan: Plan;
  #running = 0;
  #failure: unknown = null;
  #isCalm = false;
  /** How many files were open, and how many timers ran again and again, before anything happened. */
  #openAtRest = 0;
  #intervalsAtRest = 0;
  #read = 0;
  #answers = 0;
  /** When a request was last sent or answered. */
  #movedMs = 0;

  constructor(input: SeedInput, world: World) {
    this.#input = input;
    this.#world = world;
    this.#plan = planOf(createRandom(input.seed));
    world.onWebhook = (id, { type, data }, delivery, since) =>
      this.#check(() => {
        this.#model.sawDelivery(id, type, data);
        if (world.followMs === 0) this.#model.endpoint?.sawDelivery(id, delivery); // a database server has its own clock
        this.#model.sawArrival("webhook is delivered", id, since, this.faults);
      });
    world.onNotification = (...given) => this.#check(() => this.#model.sawNotification(...given, this.faults));
    // The service's process ends after one.
    process.removeAllListeners("unhandledRejection").on("unhandledRejection", (error) => {
      this.#failure ??= new Violation("unhandled rejection", (error as Error)?.stack ?? String(error));
    });
    world.onFault = (operation, fault, detail) => {
      this.#happens(operation, fault, ` (${operation}): ${detail}`);
    };
  }

  /** A violation that the service itself must not see. */
  #check(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#failure ??= error;
    }
  }

  note(text: string): void {
    this.trace.push(`${this.step} ${text}`);
  }

  get faults(): number {
    return this.#world.faults;
  }

  get log(): string[] {
    return this.#world.log;
  }

  async all(): Promise<void> {
    const { steps, length, seed } = this.#input;
    await this.#world.open();
    this.#isCalm = true;
    await this.#run(createRandom(seed), () => setUp(this.#newStep(createRandom(seed))));
    if (this.#world.followMs > 0) {
      this.#model.followMs = this.#world.followMs;
      await this.#world.pass(this.#world.followMs);
      await this.#proceed(createRandom(seed), Number.POSITIVE_INFINITY);
    }
    this.#openAtRest = disk.openCount();
    this.#intervalsAtRest = machine.intervalCount();
    this.#isCalm = false;
    for (const step of steps ?? Array.from({ length }, (_, i) => i)) {
      this.step = step;
      await this.#runStep(createRandom(seed, step + 1));
    }
    this.step = length;
    await this.#drain();
  }

  async #runStep(random: Random): Promise<void> {
    const { concurrency } = this.#plan;
    if (random.chance(0.05)) return this.#passTime(random);
    this.#disturb(random);
    if (this.#running < concurrency) this.#start(random);
    const releases = concurrency === 1 ? Number.POSITIVE_INFINITY : random.below(30);
    await this.#proceed(random, releases);
  }

  #newStep(random: Random): Step {
    return new Step(
      this.#world,
      this.#model,
      random,
      (text) => this.note(text),
      () => this.faults,
      look,
    );
  }

  #start(random: Random): void {
    const step = this.#newStep(random);
    const { process } = this.#world;
    let promise: Promise<void> | null = null;
    for (let i = 0; i < TRIES && !promise; i++) promise = random.weighted(this.#plan.operations).start(step);
    if (!promise) return;
    this.#running += 1;
    this.#movedMs = machine.elapsedMs();
    promise.then(
      () => {
        if (process === this.#world.process) this.#running -= 1;
      },
      (error) => {
        this.#failure ??= error;
        if (process === this.#world.process) this.#running -= 1;
      },
    );
  }

  /** Lets the service run until so many of its waits have ended, or until nothing is left to do. */
  async #proceed(random: Random, releases: number): Promise<void> {
    const { faultChance, networkChance, crashChance } = this.#plan;
    for (let released = 0; released < releases; ) {
      await this.#world.quiet();
      this.#read = readEmails(this.#world, this.#model, this.#read, this.faults);
      if (this.#failure) throw this.#failure;
      if (this.#world.fatal) await this.#crash(random, `of the database: ${this.#world.fatal}`);
      const isAnswered = this.#world.answers > this.#answers;
      this.#answers = this.#world.answers;
      if (isAnswered) this.#movedMs = machine.elapsedMs();
      if (this.#world.gates.length > 0 || isAnswered) {
        if (!this.#isCalm && random.chance(crashChance * (isAnswered ? CRASHES_AFTER_ANSWERS : 1))) {
          await this.#crash(random);
          continue;
        }
        const gate = this.#world.gates[random.below(this.#world.gates.length)];
        if (!gate) continue;
        const faults = this.#world.faultsOf(gate.port);
        const isFaulty =
          !this.#isCalm && faults.length > 0 && random.chance(NETWORK.has(gate.port) ? networkChance : faultChance);
        if (process.env.SIMULATION_GATES)
          this.note(
            `    ${gate.port} of ${this.#world.gates.length}: ${gate.detail.replace(/\s+/g, " ").slice(0, 80)}`,
          );
        this.#world.releaseGate(gate, isFaulty ? random.pick(faults) : null);
        released += 1;
      } else if (this.#running > 0) {
        if (machine.elapsedMs() - this.#movedMs > REQUEST_LIMIT_MS)
          throw new Violation("request is not answered", `${this.#running} are not after ${REQUEST_LIMIT_MS} ms`);
        await this.#world.pass(Math.max(1, machine.nextTimerMs()));
      } else return;
    }
  }

  async #crash(random: Random, text = ""): Promise<void> {
    this.#happens("all", "crash", ` ${text}`);
    const { process } = this.#world;
    this.note(`  ${await this.#world.crash(random)}`);
    if (process === this.#world.process) return; // another one goes on
    this.#running = 0;
    this.#model.lose();
  }

  /** The disk is full for a while, or the clock is set. */
  #disturb(random: Random): void {
    const { diskChance, clockChance } = this.#plan;
    if (disk.isFull() && random.chance(0.15)) {
      this.note("  the disk has space again");
      disk.free();
      this.#world.faults += 1; // a transaction that began before cannot write
    } else if (random.chance(diskChance)) {
      disk.fill(random.pick(FREE_BYTES));
      this.#happens("all", "disk full");
    }
    if (!random.chance(clockChance)) return;
    machine.setClock((random.float() * 2 - 1) * MAX_CLOCK_OFF_MS);
    this.#happens("all", "clock set");
  }

  #happens(operation: string, fault: string, detail = ""): void {
    this.#world.faults += 1;
    const key = `${operation}|${fault}`;
    this.coverage[key] = (this.coverage[key] ?? 0) + 1;
    this.note(`  fault: ${fault}${detail}`);
  }

  async #passTime(random: Random): Promise<void> {
    const ms = random.pick([1, 10, 60, this.#plan.longestSeconds]) * SECOND_MS * random.float();
    this.note("time passes");
    await this.#world.quiet();
    // Transactions and leases may take too long.
    const isAtRest = this.#running === 0 && this.#world.gates.length === 0;
    if (!isAtRest) this.#world.faults += 1;
    await this.#world.pass(ms);
    if (!isAtRest) this.#world.delayedAtMs = machine.nowMs();
    this.#movedMs = machine.elapsedMs();
    await this.#proceed(random, this.#plan.concurrency === 1 ? Number.POSITIVE_INFINITY : random.below(30));
  }

  /** All faults cease, and time passes until nothing is left to do. Then everything acknowledged has to be there. */
  async #drain(): Promise<void> {
    const random = createRandom(this.#input.seed, 0xd3a1);
    this.#isCalm = true;
    disk.free();
    machine.setClock(0);
    await this.#proceed(random, Number.POSITIVE_INFINITY);
    const calmFromMs = machine.nowMs();
    this.#world.faultsAtRest = this.faults; // nothing is under way
    await this.#run(random, () => finishAll(this.#newStep(random)));
    for (const seconds of DRAIN_SECONDS) {
      await this.#world.pass(seconds * SECOND_MS);
      await this.#proceed(random, Number.POSITIVE_INFINITY);
      this.#world.faultsAtRest = this.faults; // what arrives from now on was claimed since
      if ((await this.#run(random, () => this.#world.countWork(calmFromMs))) === 0) break;
    }
    const step = this.#newStep(random);
    const arrived = this.#world.outbox.map(({ email }) => email);
    this.#model.checkEmails(arrived, calmFromMs);
    await this.#run(random, () => checkAll(step));
    await this.#later(random);
    await this.#restore(random);
    const openCount = disk.openCount();
    if (openCount !== this.#openAtRest) throw new Violation("files stay open", `${openCount}, not ${this.#openAtRest}`);
    const intervals = machine.intervalCount();
    if (intervals !== this.#intervalsAtRest)
      throw new Violation("timers go on", `${intervals}, not ${this.#intervalsAtRest}`);
    if (this.#world.followMs > 0) return; // one instance may have ended while the other one goes on
    const requests = await this.#world.countRequests();
    if (requests > MAX_REQUESTS_AT_REST) throw new Violation("requests stay in memory", `${requests}`);
  }

  /** The clock goes on by days at once, and then for some hours: what runs hourly removes what has expired. */
  async #later(random: Random): Promise<void> {
    const { laterDays } = this.#plan;
    const lastDay = laterDays.at(-1);
    if (lastDay === undefined || this.#world.followMs > 0) return; // a database server has its own clock
    for (const [i, days] of laterDays.entries()) {
      machine.setClock(days * DAY_MS);
      this.note(`${days} days pass`);
      const idleDays = days - (laterDays[i - 1] ?? 0);
      await this.#run(random, () => checkExpired(this.#newStep(random), { days, idleDays }));
    }
    for (let hours = 0; hours < 3; hours++) {
      await this.#world.pass(HOUR_MS);
      await this.#proceed(random, Number.POSITIVE_INFINITY);
    }
    await this.#run(random, () => checkLater(this.#newStep(random), lastDay));
  }

  /** The machine is lost, and a backup is restored: everything is there again. */
  async #restore(random: Random): Promise<void> {
    const { isRestored, laterDays } = this.#plan;
    if (!isRestored || laterDays.length > 0 || this.#world.backups === null) return;
    const name = await this.#run(random, () => backUp(this.#newStep(random), "restorer"));
    const backup = this.#world.readBackups().get(name ?? "");
    if (!backup) throw new Violation("backup fails without a fault", String(name));
    this.note(`${name} is restored`);
    await this.#world.restore(backup, random);
    this.#model.lose();
    await this.#run(random, () => checkAll(this.#newStep(random)));
  }

  /** Runs something beside the operations to its end. */
  async #run<T>(random: Random, run: () => Promise<T>): Promise<T> {
    let result: T | undefined;
    this.#running += 1;
    this.#movedMs = machine.elapsedMs();
    run().then(
      (value) => {
        result = value;
        this.#running -= 1;
      },
      (error) => {
        this.#failure ??= error;
        this.#running -= 1;
      },
    );
    await this.#proceed(random, Number.POSITIVE_INFINITY);
    return result as T;
  }
}
