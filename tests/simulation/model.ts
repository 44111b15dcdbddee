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

/** Something that works until it is used or ended, and never after that. */
class Usable {
  readonly works: Fact<boolean>;
  /** Virtual time after which it need not work. */
  expiresAtMs = Number.POSITIVE_INFINITY;

  constructor(
    readonly kind: string,
    readonly owner: string,
    isSure = true,
  ) {
    this.works = isSure ? new Fact(true) : new Fact(true, false);
  }

  end(): void {
    this.works.set(false);
  }
  mayEnd(): void {
    this.works.maySet(false);
  }
  /** It was used, and worked or not. `isOnce`: what worked does not work again. */
  saw(worked: boolean, { nowMs = 0, isOnce = false } = {}): void {
    if (worked && !this.works.canBe(true)) throw new Violation(`ended ${this.kind} works`, this.owner);
    if (!worked && !this.works.canBe(false) && nowMs < this.expiresAtMs)
      throw new Violation(`${this.kind} is refused`, this.owner);
    this.works.set(worked && !isOnce);
  }
}

export class Session extends Usable {
  /** Of a browser, else of an app. */
  cookie: string | null = null;
  /** The code that it was exchanged for. */
  codeText: string | null = null;

  constructor(
    readonly token: string,
    readonly account: Account,
  ) {
    super("session", account.name);
  }
}

/** A link in an email, or a code of the authorization server. */
export class Code extends Usable {
  constructor(
    kind: "reset link" | "email link" | "authorization code" | "device code",
    readonly account: Account,
    readonly text: string,
    readonly detail: string,
    isSure: boolean,
  ) {
    super(kind, account.name, isSure);
  }
}

/** A browser that gets notifications. */
export class Device extends Usable {
  /** Messages that it has to get, and those that it may get besides. */
  due = 0;
  extra = 0;

  constructor(
    readonly account: Account,
    public session: Session,
    readonly endpoint: string,
  ) {
    super("device", account.name);
  }
}

/** A store's subscription: what its events say, whichever have arrived. */
export class Purchase {
  /** All events, in the order in which they happened. */
  readonly events: { body: Record<string, unknown>; isAcknowledged: boolean }[] = [];
  period = 1;
  startedAtMs = 0;
  /** When access ends by the events. */
  endsAtMs = 0;
  isCanceled = false;
  isEnded = false;

  constructor(
    readonly account: Account,
    readonly transaction: string,
  ) {}

  isComplete(): boolean {
    return this.events.every(({ isAcknowledged }) => isAcknowledged);
  }
  /** null: a renewal is due, and the service may wait for it. */
  isActive(nowMs: number): boolean | null {
    if (this.isEnded || this.events.length === 0) return false;
    if (nowMs < this.endsAtMs) return true;
    return nowMs < this.endsAtMs + GRACE_MS ? null : false;
  }
}
/** Half of the life of a link that sets a password: after that its email may be discarded. */
const MAX_EMAIL_AGE_MS = 15 * 60_000;
/** How long after the end of a period access may continue: `BILLING_STALE_LEEWAY_SECONDS` and a day of billing retries. */
const GRACE_MS = 40 * 24 * 3_600_000;

export class Grant extends Usable {
  constructor(
    readonly id: string,
    readonly account: Account,
    readonly endsAtMs: number,
  ) {
    super("grant", account.name);
  }
}

export class Account {
  id: string | null = null;
  readonly exists = new Fact(false, true);
  readonly isDisabled = new Fact(false);
  readonly password: Fact<string>;
  readonly email: Fact<string>;
  readonly sessions: Session[] = [];
  readonly codes: Code[] = [];
  readonly devices: Device[] = [];
  readonly purchases: Purchase[] = [];
  readonly grants: Grant[] = [];
  emails = 1;
  /** When it asked for the email that has not arrived. */
  askedAtMs: number | null = null;
  /** How many have arrived. */
  resetEmails = 0;
  /** Nobody knows whether it or another one has its email. */
  isUnclear = false;
  /** Requests about one account follow each other, unless an operation is about two at the same time. */
  isBusy = false;
  /** Whether a grant may exist whose id was not returned. */
  mayHaveUnknownGrant = false;

  constructor(
    readonly number: number,
    password: string,
  ) {
    this.password = new Fact(password);
    this.email = new Fact(this.emailNumber(0));
  }

  get name(): string {
    return `account ${this.number}`;
  }
  emailNumber(n: number): string {
    return `person-${this.number}-${n}@example.com`;
  }
  /** Whether a session of its owner may be live. */
  get liveSessions(): Session[] {
    return this.sessions.filter(({ works }) => works.canBe(true));
  }
  addSession(token: string, cookie: string | null = null): Session {
    const session = new Session(token, this);
    session.cookie = cookie;
    this.sessions.push(session);
    return session;
  }
  codesOf(kind: Code["kind"]): Code[] {
    return this.codes.filter((code) => code.kind === kind);
  }
  addCode(
    kind: "reset link" | "email link" | "authorization code" | "device code",
    text: string,
    detail: string,
    isSure = false,
  ) {
    const code = new Code(kind, this, text, detail, isSure);
    this.codes.push(code);
    return code;
  }
  /** A request that may end all sessions, and what they have allowed, has been sent. */
  mayEndAccess(): void {
    this.askedAtMs = null;
    for (const one of [...this.sessions, ...this.devices, ...this.codes]) one.mayEnd();
  }
  /** All sessions have ended, and with them their devices and the codes that they have allowed. */
  endAccess(): void {
    for (const one of [...this.sessions, ...this.devices]) one.end();
    for (const code of this.codes) if (/ code$/.test(code.kind)) code.end();
  }
  mayEndSession(session: Session): void {
    session.mayEnd();
    for (const device of this.devices) if (device.session === session) device.mayEnd();
    for (const code of this.codes) if (code.detail === (session.token || session.cookie)) code.mayEnd();
  }
  endSession(session: Session): void {
    session.end();
    for (const device of this.devices) if (device.session === session) device.end();
    for (const code of this.codes) if (code.detail === (session.token || session.cookie)) code.end();
  }
  /** The links that had arrived before the request have ended. One that arrived meanwhile may be newer than its effect. */
  endLinks(before: readonly Code[] = this.codes): void {
    this.askedAtMs = null;
    for (const code of before) if (/ link$/.test(code.kind)) code.end();
  }
  /** The account has been deleted. */
  remove(): void {
    this.exists.set(false);
    this.endAccess();
    this.endLinks();
  }
}

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

/** What an operator's acknowledged changes have to leave in the audit trail. */
type Audited = { acknowledged: number; unknown: number };

export class Release {
  readonly isYanked = new Fact(false);
  isBusy = false;
  /** A change had no answer. */
  isUnsure = false;

  constructor(readonly id: string) {}
}

/** What was acknowledged, and what may have happened. It has no I/O. */
export class Model {
  readonly accounts: Account[] = [];
  readonly keys: ApiKey[] = [];
  readonly releases = new Map<string, Release>();
  readonly audited = new Map<string, Audited>();
  /** Of the endpoint that gets all events: those that were received, by their ids. */
  readonly received = new Map<string, { type: string; accountId: string | null; count: number }>();
  /** Emails received, by recipient and subject. */
  readonly crashes = { count: 0 };
  nextNumber = 1;

  addAccount(password: string): Account {
    const account = new Account(this.nextNumber++, password);
    this.accounts.push(account);
    return account;
  }

  /** The process has ended: no operation is under way. */
  lose(): void {
    this.crashes.count += 1;
    for (const one of [...this.accounts, ...this.keys]) {
      one.isBusy = false;
    }
    for (const release of this.releases.values()) {
      release.isUnsure ||= release.isBusy;
      release.isBusy = false;
    }
    for (const key of this.keys) if (key.works.possible.length > 1) key.isUnsure = true;
  }

  /** Emails that were asked for, and need not have expired, have arrived. */
  checkEmails(calmFromMs: number): void {
    for (const { name, askedAtMs } of this.accounts)
      if (askedAtMs !== null && calmFromMs - askedAtMs < MAX_EMAIL_AGE_MS)
        throw new Violation("email is not sent", name);
  }

  /** An operator's change is sent, which writes an event if it is applied. */
  willAudit(type: string): { done: () => void; refused: () => void } {
    const audited = this.audited.get(type) ?? { acknowledged: 0, unknown: 0 };
    this.audited.set(type, audited);
    audited.unknown += 1;
    return {
      done: () => {
        audited.unknown -= 1;
        audited.acknowledged += 1;
      },
      refused: () => {
        audited.unknown -= 1;
      },
    };
  }

  sawAudit(type: string, count: number): void {
    const { acknowledged, unknown } = this.audited.get(type) ?? { acknowledged: 0, unknown: 0 };
    if (count < acknowledged) throw new Violation("audit event is missing", `${type}: ${count} of ${acknowledged}`);
    if (count > acknowledged + unknown)
      throw new Violation("audit event without a change", `${type}: ${count}, of ${acknowledged} changes`);
  }

  /** A request with the password was answered as the right one would be, or not. */
  sawPassword(account: Account, email: string, password: string, isRight: boolean): void {
    const { exists, password: has, email: at } = account;
    const canBeRight = exists.canBe(true) && has.canBe(password) && at.canBe(email);
    const isSurelyRight = exists.is(true) && has.is(password) && at.is(email);
    if (isRight && !canBeRight) throw new Violation("wrong password works", account.name);
    if (!isRight && isSurelyRight) throw new Violation("right password is refused", account.name);
    if (isRight) {
      exists.set(true);
      has.set(password);
      at.set(email);
    } else if (exists.is(true) && at.is(email)) has.rule(password, false);
    else if (exists.is(true) && has.is(password)) at.rule(email, false);
    else if (has.is(password) && at.is(email)) exists.set(false);
  }

  /** An account's entitlement, as a status request shows it. */
  sawAccess(account: Account, isActive: boolean, nowMs: number): void {
    if (account.mayHaveUnknownGrant) return;
    const facts = [
      ...account.purchases.map((purchase) => (purchase.isComplete() ? purchase.isActive(nowMs) : null)),
      ...account.grants.map(({ works, endsAtMs }) =>
        nowMs > endsAtMs ? false : works.is(true) ? true : works.is(false) ? false : null,
      ),
    ];
    const expected = facts.includes(true) ? true : facts.includes(null) ? null : false;
    if (expected !== null && expected !== isActive)
      throw new Violation("status differs from the events", `${account.name} is ${isActive ? "" : "not "}active`);
  }

  /** A delivery to the endpoint that gets all events, which answered 2xx. */
  sawDelivery(id: string, type: string, accountId: string | null): void {
    const known = this.received.get(id) ?? { type, accountId, count: 0 };
    known.count += 1;
    this.received.set(id, known);
  }
}
