import type { Grant, Purchase } from "./billing";
import { Fact, Usable, Violation } from "./fact";
import type { Device } from "./push";

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

  /** A request with the password was answered as the right one would be, or not. */
  sawPassword(email: string, password: string, isRight: boolean): void {
    const { exists, password: has, email: at } = this;
    const canBeRight = exists.canBe(true) && has.canBe(password) && at.canBe(email);
    const isSurelyRight = exists.is(true) && has.is(password) && at.is(email);
    if (isRight && !canBeRight) throw new Violation("wrong password works", this.name);
    if (!isRight && isSurelyRight) throw new Violation("right password is refused", this.name);
    if (isRight) {
      exists.set(true);
      has.set(password);
      at.set(email);
    } else if (exists.is(true) && at.is(email)) has.rule(password, false);
    else if (exists.is(true) && has.is(password)) at.rule(email, false);
    else if (has.is(password) && at.is(email)) exists.set(false);
  }
}
