/** What the simulation expects is not what the service did. `check` names the rule, and is the same for the same fault. */
export class Violation extends Error {
  constructor(
    readonly check: string,
    message: string,
  ) {
    super(`${check}: ${message}`);
  }
}

/** A fact that an unanswered request may have changed has several possible values until an answer shows which. */
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
  /** A request that may set it has been sent. */
  maySet(value: T): void {
    if (!this.#values.includes(value)) this.#values.push(value);
  }
  /** An answer shows that it has, or has not, one of its possible values. */
  rule(value: T, isSo: boolean): void {
    this.#values = isSo ? [value] : this.#values.filter((one) => one !== value);
  }
}

export type Session = { token: string; account: Account; isLive: Fact<boolean> };

export class Account {
  id: string | null = null;
  readonly exists: Fact<boolean>;
  readonly password: Fact<string>;
  readonly sessions: Session[] = [];
  /** Tokens of emailed links that set a password. */
  readonly resetTokens = new Map<string, Fact<boolean>>();
  /** Requests of one account follow each other, unless an operation is about two at the same time. */
  isBusy = false;

  constructor(
    readonly name: string,
    readonly email: string,
    password: string,
  ) {
    this.exists = new Fact(false, true);
    this.password = new Fact(password);
  }

  addSession(token: string): void {
    this.sessions.push({ token, account: this, isLive: new Fact(true) });
  }
  addResetToken(token: string): void {
    this.resetTokens.set(token, new Fact(true, false));
  }
  /** A request that may end all sessions but one has been sent. */
  mayEndSessions(keep?: Session): void {
    for (const session of this.sessions) if (session !== keep) session.isLive.maySet(false);
  }
  endSessions(keep?: Session): void {
    for (const session of this.sessions) if (session !== keep) session.isLive.set(false);
  }
}

/** What was acknowledged, and what may have happened. It has no I/O. */
export class Model {
  readonly accounts: Account[] = [];

  addAccount(password: string): Account {
    const number = this.accounts.length + 1;
    const account = new Account(`account ${number}`, `person-${number}@example.com`, password);
    this.accounts.push(account);
    return account;
  }

  /** The process has ended: no operation is under way. */
  lose(): void {
    for (const account of this.accounts) account.isBusy = false;
  }

  /** Whether a session that answered a request may have done so. */
  sawSession(session: Session, isLive: boolean): void {
    if (!session.isLive.canBe(isLive))
      throw new Violation(
        isLive ? "ended session works" : "live session is refused",
        `a session of ${session.account.name}`,
      );
    session.isLive.set(isLive);
  }

  /** A request that takes the password was accepted. */
  sawPassword(account: Account, password: string): void {
    if (!account.password.canBe(password))
      throw new Violation("wrong password works", `${account.name} was changed with a password that it has not`);
    account.exists.set(true);
    account.password.rule(password, true);
  }

  /** Whether a sign-in may have ended this way. */
  sawSignIn(account: Account, password: string, isRight: boolean): void {
    const canBeRight = account.exists.canBe(true) && account.password.canBe(password);
    const canBeWrong = account.exists.canBe(false) || account.password.possible.some((one) => one !== password);
    if (isRight && !canBeRight)
      throw new Violation("wrong password works", `${account.name} signed in with a password that it has not`);
    if (!isRight && !canBeWrong) throw new Violation("right password is refused", account.name);
    if (isRight) account.exists.set(true);
    if (isRight || account.exists.is(true)) account.password.rule(password, isRight);
    else if (account.password.is(password)) account.exists.set(false);
  }
}
