import type { UnansweredGrant } from "../operations/sent";
import type { Grant, Purchase } from "./billing";
import { Fact, Usable, Violation } from "./fact";
import type { AuthenticatorApp, Identity, Passkey, RecoveryCode } from "./factors";
import type { Device } from "./push";

export class Session extends Usable {
  /** Of a browser, else of an app. */
  cookie: string | null = null;
  /** The code that it was exchanged for. */
  codeText: string | null = null;
  /** Its id, if an answer has named it. */
  id: string | null = null;
  /** When its owner was authenticated at the latest, and whether perhaps by two factors. */
  authenticatedAtMs = Number.POSITIVE_INFINITY;
  hasTwoFactors = true;
  /** A change of the password has no answer yet, or never will: devices may have moved to a session that nobody knows. */
  mayHaveSuccessor = false;

  constructor(
    readonly token: string,
    readonly account: Account,
  ) {
    super("session", account.name);
  }
  /** A change of the password is sent. Returns what to call if it is refused. */
  mayBeSucceeded(): () => void {
    const before = this.mayHaveSuccessor;
    this.mayHaveSuccessor = true;
    return () => {
      this.mayHaveSuccessor = before;
    };
  }
}

type LinkKind = "reset link" | "email link" | "verification link" | "not-me link" | "undo link" | "invitation link";
export type CodeKind = LinkKind | "authorization code" | "device code" | "sign-in challenge";

/** A link in an email, a code of the authorization server, or the first half of a sign-in. */
export class Code extends Usable {
  /** When its email arrived. */
  arrivedAtMs = 0;

  constructor(
    kind: CodeKind,
    readonly account: Account,
    readonly text: string,
    readonly detail: string,
    isSure: boolean,
  ) {
    super(kind, account.name, isSure);
  }
}

/** The links that end when the password or the email changes. */
const PASSWORD_LINK = /^(reset|email|invitation) link$/;
/** The codes that end with the other sessions. */
const OF_OTHERS = /( code|challenge)$/;
/** The codes that end with all sessions. */
const OF_SESSIONS = /(code|challenge|not-me link)$/;
const MAX_SURE_SESSIONS = 12;

export class Account {
  id: string | null = null;
  readonly exists = new Fact(false, true);
  readonly isDisabled = new Fact(false);
  /** null: it has none. */
  readonly password: Fact<string | null>;
  readonly email: Fact<string>;
  readonly isVerified = new Fact(false);
  /** null: it has none, and sign-ins need no second factor. */
  readonly app = new Fact<AuthenticatorApp | null>(null);
  recoveryCodes: RecoveryCode[] = [];
  readonly passkeys: Passkey[] = [];
  readonly identities: Identity[] = [];
  readonly sessions: Session[] = [];
  readonly codes: Code[] = [];
  readonly devices: Device[] = [];
  /** Live Activities, each as the device with its token. */
  readonly activities: Device[] = [];
  /** Whether it has turned messages off, and when that was acknowledged. */
  readonly isMuted = new Fact(false);
  mutedFromMs = Number.POSITIVE_INFINITY;
  readonly purchases: Purchase[] = [];
  readonly grants: Grant[] = [];
  /** What its owner's acknowledged changes have to leave in the audit trail, by type. */
  readonly events = new Map<string, { acknowledged: number; unknown: number }>();
  emails = 1;
  /** When its email was last changed, at the earliest. */
  emailSinceMs = 0;
  /** Whether a request that undoes a change of it was ever sent. */
  mayBeUndone = false;
  /** When it asked for the email that has not arrived. */
  askedAtMs: number | null = null;
  /** How many have arrived. */
  resetEmails = 0;
  /** Whether the email that says that it was deleted has to arrive, and whether it has. */
  mustBeTold = false;
  wasTold = false;
  #ending: Usable[] = [];
  /** Nobody knows whether it or another one has its email. */
  isUnclear = false;
  /** Requests about one account follow each other, unless an operation is about two at the same time. */
  isBusy = false;
  /** Requests for grants that were not answered. */
  readonly unansweredGrants: UnansweredGrant[] = [];

  constructor(
    readonly number: number,
    password: string | null,
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
    // Of more than 20 live ones the oldest end. Some of them may have had no answer.
    for (const old of this.liveSessions.slice(0, -MAX_SURE_SESSIONS)) this.mayEndSession(old);
    return session;
  }
  /** A session goes on under a new token, and under its id. */
  succeed(session: Session, token: string): Session {
    const { id, authenticatedAtMs, hasTwoFactors, codeText } = session;
    session.id = null;
    return Object.assign(this.addSession(token), { id, authenticatedAtMs, hasTwoFactors, codeText });
  }
  codesOf(kind: CodeKind): Code[] {
    return this.codes.filter((code) => code.kind === kind);
  }
  addCode(kind: CodeKind, text: string, detail: string, isSure = false) {
    const code = new Code(kind, this, text, detail, isSure);
    this.codes.push(code);
    return code;
  }
  /** What ends with all sessions. */
  get access(): Usable[] {
    return [...this.sessions, ...this.devices, ...this.codes.filter(({ kind }) => OF_SESSIONS.test(kind))];
  }
  /** A request that may end all sessions, and what they have allowed, has been sent. */
  mayEndAccess(): void {
    this.askedAtMs = null;
    this.#ending = this.access;
    for (const one of [...this.access, ...this.codes]) one.mayEnd();
  }
  /** All that was there when the request was sent has ended. An emailed link that has arrived since may be newer. */
  endAccess(isEnded = (_: Usable) => true): void {
    for (const one of this.#ending) if (isEnded(one)) one.end();
  }
  /** The other sessions have ended, the codes that any has allowed, and sign-ins that are not complete. */
  endOthers(session: Session): void {
    for (const one of this.sessions) if (one !== session) this.endSession(one);
    for (const code of this.codes) if (OF_OTHERS.test(code.kind)) code.end();
  }
  mayEndOthers(session: Session): void {
    for (const one of this.sessions) if (one !== session) this.mayEndSession(one);
    for (const code of this.codes) if (OF_OTHERS.test(code.kind)) code.mayEnd();
  }
  /** Ways to sign in besides the password. */
  get factors(): Usable[] {
    return [...this.recoveryCodes, ...this.passkeys, ...this.identities];
  }
  /** A sign-in was asked for a second factor, or was not. */
  sawSecondFactor(isAsked: boolean): void {
    if (isAsked && this.app.is(null)) throw new Violation("second factor is asked for without one", this.name);
    if (!isAsked && !this.app.canBe(null)) throw new Violation("second factor is skipped", this.name);
    this.app.rule(null, !isAsked);
  }
  mayLoseApp(): void {
    this.app.maySet(null);
    for (const code of this.recoveryCodes) code.mayEnd();
  }
  loseApp(): void {
    this.app.set(null);
    for (const code of this.recoveryCodes) code.end();
  }
  /**
   * A request by which the owner of the email takes it over has been sent: if nobody had verified it, whoever had
   * registered it loses all. Returns what to call when it was applied.
   */
  mayTakeOver(): () => void {
    const isLoss = this.isVerified.is(false);
    const { factors } = this;
    if (this.isVerified.canBe(false)) {
      this.mayLoseApp();
      for (const one of factors) one.mayEnd();
    }
    this.isVerified.maySet(true);
    return () => {
      this.isVerified.set(true);
      if (!isLoss) return;
      this.loseApp();
      for (const one of factors) one.end();
    };
  }
  mayEndSession(session: Session): void {
    session.mayEnd();
    for (const device of this.devices) if (device.session === session) device.mayEnd();
    for (const code of this.codes) if (code.detail === (session.token || session.cookie)) code.mayEnd();
  }
  endSession(session: Session): void {
    session.end();
    for (const device of this.devices)
      if (device.session === session) session.mayHaveSuccessor ? device.mayEnd() : device.end();
    for (const code of this.codes) if (code.detail === (session.token || session.cookie)) code.end();
  }
  /** The links that had arrived before the request have ended. One that arrived meanwhile may be newer than its effect. */
  endLinks(before: readonly Code[] = this.codes): void {
    this.askedAtMs = null;
    for (const code of before) if (PASSWORD_LINK.test(code.kind)) code.end();
  }
  /** The account has been deleted. */
  remove(): void {
    this.exists.set(false);
    this.mayEndAccess();
    this.endAccess();
    for (const one of [...this.codes, ...this.factors]) one.end();
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
