import { machine } from "../machine";
import type { Account, Session } from "../model/accounts";
import { type Fact, type Usable, Violation } from "../model/fact";
import type { Model } from "../model/model";
import type { Random } from "../random";
import type { Answer, Sent as Request, World } from "../world";

/** What an operation needs. One step's random numbers are its own, so that it does the same when others are left out. */
export class Step {
  readonly #faultsBefore: number;

  constructor(
    readonly world: World,
    readonly model: Model,
    readonly random: Random,
    readonly note: (text: string) => void,
    readonly faultCount: () => number,
    /** Looks at something of an account. */
    readonly look: (step: Step, account: Account) => Promise<void>,
  ) {
    this.#faultsBefore = faultCount();
  }

  get nowMs(): number {
    return machine.nowMs();
  }

  /** Whether the simulation has disturbed anything since the operation began. */
  isDisturbed(): boolean {
    return this.faultCount() > this.#faultsBefore;
  }

  /**
   * The facts as they are before a request. The function that it returns restores them if the request was refused, unless a
   * fault may have hidden that it was applied.
   */
  remember(usables: readonly Usable[], ...others: Pick<Fact<unknown>, "possible" | "restore">[]) {
    const facts = [...usables.map(({ works }) => works), ...others] as Fact<unknown>[];
    const before = facts.map(({ possible }) => possible);
    return ({ outcome }: Pick<Sent, "outcome">) => {
      if (outcome !== "refused" || this.isDisturbed()) return;
      for (const [i, fact] of facts.entries()) fact.restore(before[i] ?? []);
    };
  }

  /** A change with an email to the account's owner, about what it adds, is sent. The result is called once it is acknowledged. */
  willEmail(account: Account, subject: string, about: Usable | null = null): () => void {
    const owed = { account, subject, after: this.world.outbox.length, atMs: this.nowMs, about };
    return () => {
      const [to = "", ...others] = account.email.possible;
      if (others.length === 0) this.model.owedEmails.push({ ...owed, to });
    };
  }

  /** An owner's change is sent, once or more often, which writes one event if it is applied. The result takes the answers. */
  willRecord(account: Account, type: string): (answers: readonly Pick<Sent, "outcome">[]) => void {
    const counts = account.events.get(type) ?? { acknowledged: 0, unknown: 0 };
    account.events.set(type, counts);
    counts.unknown += 1;
    return (answers) => {
      const isDone = answers.some(({ outcome }) => outcome === "done");
      if (isDone) counts.acknowledged += 1;
      const isRefused = answers.every(({ outcome }) => outcome === "refused") && !this.isDisturbed();
      if (isDone || isRefused) counts.unknown -= 1;
    };
  }

  /**
   * Sends a request, and returns how it ended. A failure is expected only if the simulation has caused one, or if another
   * operation, which `mayFail` knows of, can have.
   */
  async send(
    operation: string,
    method: string,
    path: string,
    sent: Request = {},
    mayFail = () => false,
  ): Promise<Answer & { outcome: Outcome }> {
    const answer = await this.world.send(operation, method, path, sent);
    const { status, body } = answer;
    this.note(`${operation}: ${status}${status >= 400 ? ` ${body?.code ?? body?.error ?? ""}` : ""}`);
    if (status === 500 && body?.code !== "backup_failed")
      throw new Violation("internal error", `${operation}: ${JSON.stringify(body).slice(0, 300)}`);
    // A provider that did not respond is not asked again for ten seconds.
    const isExpected = this.isDisturbed() || body?.error === "temporarily_unavailable" || mayFail();
    if (status === 503 && !isExpected) throw new Violation("unavailable without a fault", operation);
    return { ...answer, outcome: status === 503 ? "unknown" : status < 400 ? "done" : "refused" };
  }

  /** Sends a form of a page. It has succeeded if it leads to this path. */
  async submit(
    operation: string,
    path: string,
    form: Record<string, string>,
    next: string,
    cookie = "",
  ): Promise<Sent> {
    const answer = await this.send(operation, "POST", path, { form, cookie, headers: { origin: this.world.origin } });
    const location = answer.headers.get("location") ?? "";
    const isUnknown = answer.outcome === "unknown" || this.isDisturbed();
    return { ...answer, outcome: location.startsWith(next) ? "done" : isUnknown ? "unknown" : "refused" };
  }
}

export type Outcome = "done" | "refused" | "unknown";
export type Sent = Awaited<ReturnType<Step["send"]>>;

export type Operation = {
  name: string;
  weight: number;
  /** Returns null if there is nothing that it could be about. What it sends is known to the model before. */
  start: (step: Step) => Promise<void> | null;
};

/** An operation about an account that no other is about at the time. */
export function onAccount(
  name: string,
  weight: number,
  suits: (account: Account) => boolean,
  run: (step: Step, account: Account) => Promise<void>,
): Operation {
  return {
    name,
    weight,
    start: (step) => {
      const suitable = step.model.accounts.filter((account) => !account.isBusy && !account.isUnclear && suits(account));
      // The newest have most in common with what other operations do.
      const account = step.random.pick(step.random.chance(0.5) ? suitable.slice(-6) : suitable);
      if (!account) return null;
      account.isBusy = true;
      const isSeen = step.random.chance(0.3);
      return run(step, account)
        .then(() => (isSeen ? step.look(step, account) : undefined))
        .finally(() => {
          account.isBusy = false;
        });
    },
  };
}

/** An operation of an app that is signed in. */
export function onSession(
  name: string,
  weight: number,
  suits: (account: Account) => boolean,
  run: (step: Step, session: Session) => Promise<void>,
): Operation {
  const sessions = (account: Account) => account.liveSessions.filter(({ cookie }) => cookie === null);
  const hasOne = (account: Account) => isThere(account) && sessions(account).length > 0;
  return onAccount(
    name,
    weight,
    (account) => hasOne(account) && suits(account),
    (step, account) => run(step, step.random.pick(sessions(account))),
  );
}

/** Those that have ended last. */
export const lastEnded = <T extends Usable>(all: readonly T[], count: number): T[] =>
  all
    .filter(({ works }) => works.is(false))
    .sort((a, b) => b.ending - a.ending)
    .slice(0, count);

/** The cookies that an answer sets. */
export const cookiesOf = (headers: Headers) =>
  headers
    .getSetCookie()
    .map((line) => line.split(";", 1)[0])
    .filter((line) => !line?.endsWith("="))
    .join("; ");

export const isThere = ({ exists }: Account) => exists.canBe(true);
export const hasSession = (account: Account) => isThere(account) && account.liveSessions.length > 0;
export const isIdentified = (account: Account) => isThere(account) && account.id !== null;

/** What a session's own request shows about it: it was accepted, or is not one. */
export function sawSession(session: Session, { status }: Answer): boolean {
  if (status !== 401) {
    session.saw(true);
    session.account.exists.set(true);
    return true;
  }
  session.saw(false);
  session.account.endSession(session);
  return false;
}

export const newPassword = (random: Random) => `correct horse ${random.below(1e9).toString(36)} staple`;
export const WRONG_PASSWORD = "wrong horse battery staple";
