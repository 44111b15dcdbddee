import { TOTP } from "otpauth";
import type { Account, Code, Session } from "../model/accounts";
import { Violation } from "../model/fact";
import { AuthenticatorApp, RecoveryCode } from "../model/factors";
import {
  cookiesOf,
  isIdentified,
  lastEnded,
  type Operation,
  onAccount,
  onSession,
  type Sent,
  type Step,
  sawSession,
  WRONG_PASSWORD,
} from "./operation";
import { change } from "./operators";

const PERIOD_MS = 30_000;
/** The time steps after which a code is old, whatever the clocks say. */
const OLD_STEPS = 4;
const ENROLLMENT_MS = 10 * 60_000;
const MAX_AGE_MS = 10 * 60_000;
const CHALLENGE_MS = 10 * 60_000;
/** How much the clocks of two processes differ at most. */
const CLOCKS_MS = 10_000;

/** What the owner's emails are about. */
export const FACTOR_ADDED = "New sign-in method added";
export const FACTOR_REMOVED = "Sign-in method removed";

/** What is sent as a proof, and what to call when it was accepted or refused. */
type Proof = { json: Record<string, unknown>; saw: (isAccepted: boolean) => void };

const counterOf = (ms: number) => Math.floor(ms / PERIOD_MS);
const codeOf = ({ secret }: AuthenticatorApp, counter: number) =>
  new TOTP({ secret, algorithm: "SHA1", digits: 6, period: 30 }).generate({ timestamp: counter * PERIOD_MS });

/** A code of an authenticator app, sometimes one that was used before. */
function appCode(step: Step, account: Account, app: AuthenticatorApp): Proof {
  const { random } = step;
  const isOld = random.chance(0.1);
  const now = counterOf(step.nowMs);
  // The clock of one of two instances may be behind: then the next code is one too far ahead.
  const next = now + (step.model.followMs > 0 ? 0 : random.pick([0, 0, 1]));
  const counter = isOld ? now - OLD_STEPS : random.chance(0.2) ? app.used : next;
  const isUsed = counter <= app.used;
  const isNew = counter > app.mayBeUsed && !isOld;
  app.mayBeUsed = Math.max(app.mayBeUsed, counter);
  return {
    json: { code: codeOf(app, counter) },
    saw: (isAccepted) => {
      if (isAccepted && isOld) throw new Violation("old code of an app works", account.name);
      if (isAccepted && isUsed) throw new Violation("code of an app works twice", account.name);
      if (!isAccepted && isNew && account.app.is(app) && !step.isDisturbed())
        throw new Violation("code of an app is refused", account.name);
      if (isAccepted) app.used = Math.max(app.used, counter);
    },
  };
}

/** A recovery code, sometimes the one that was used last. */
function recoveryCode({ random }: Step, { app, recoveryCodes }: Account): Proof {
  const code = random.pick((random.chance(0.5) && lastEnded(recoveryCodes, 1)) || []) ?? random.pick(recoveryCodes);
  const isSure = code.works.is(true) && !app.canBe(null);
  code.mayEnd();
  return {
    json: { recoveryCode: code.text },
    saw: (isAccepted) => {
      if (!isAccepted && isSure) throw new Violation("recovery code is refused", code.owner);
      code.saw(isAccepted, { isOnce: true });
    },
  };
}

/** One of the account's second factors; null if it has none. */
async function secondFactor(step: Step, account: Account): Promise<Proof | null> {
  const { random } = step;
  if (account.recoveryCodes.length > 0 && random.chance(0.5)) return recoveryCode(step, account);
  const apps = account.app.possible.filter((app): app is AuthenticatorApp => app !== null);
  if (apps.length === 0) return null;
  // One code is used in 30 seconds.
  if (random.chance(0.6)) await new Promise((resolve) => setTimeout(resolve, PERIOD_MS + 1_000));
  return appCode(step, account, random.pick(apps));
}

/**
 * What a session proves before a sensitive action: the password, a second factor, both or nothing. `saw` takes the answer,
 * which succeeds only if the proof, or the session by itself, is enough.
 */
export async function prove(step: Step, session: Session, { hasBody = true, canBeRecent = true } = {}) {
  const { account } = session;
  const { random } = step;
  const factor = hasBody && random.chance(0.6) ? await secondFactor(step, account) : null;
  const right = hasBody && random.chance(0.7) ? random.pick(account.password.possible) : null;
  const isWrong = !account.password.canBe(null) && right !== null && random.chance(0.15);
  const password = isWrong ? WRONG_PASSWORD : right;
  const json = { ...factor?.json, ...(password !== null && { password }) };
  const needsFactor = !account.app.canBe(null);
  const isRecent = canBeRecent && step.nowMs - session.authenticatedAtMs < MAX_AGE_MS;
  const isAllowed =
    (isRecent && (!needsFactor || session.hasTwoFactors)) || factor !== null || (right !== null && !needsFactor);
  const isGiven = Object.keys(json).length > 0;
  if (isGiven) session.authenticatedAtMs = Number.POSITIVE_INFINITY;
  if (factor) session.hasTwoFactors = true;
  const saw = ({ outcome, body }: Pick<Sent, "outcome" | "body">) => {
    if (isGiven) session.authenticatedAtMs = step.nowMs;
    if (outcome === "done" && isWrong) throw new Violation("wrong password works", account.name);
    if (outcome === "done" && !isAllowed && !step.isDisturbed())
      throw new Violation("step-up is skipped", account.name);
    if (outcome === "done" && needsFactor) factor?.saw(true);
    const errors: { pointer: string; code: string }[] = body?.errors ?? [];
    if (errors.some(({ pointer, code }) => /ode$/.test(pointer) && code === "incorrect")) factor?.saw(false);
  };
  return { json, saw };
}

/** The owner has removed a way to sign in: there is another one. */
export function checkWaysIn({ password, passkeys, identities, name }: Account): void {
  const isLeft = !password.is(null) || [...passkeys, ...identities].some(({ works }) => works.canBe(true));
  if (!isLeft) throw new Violation("last way to sign in is removed", name);
}

/** The session of an answer to a sign-in. */
export function signedIn(step: Step, account: Account, { body, headers }: Sent, hasTwoFactors: boolean): Session {
  if (account.isDisabled.is(true)) throw new Violation("disabled account works", account.name);
  if (body.user.id !== (account.id ?? body.user.id)) throw new Violation("account sees another", account.name);
  account.exists.set(true);
  account.isDisabled.set(false);
  account.id = body.user.id;
  const session = account.addSession(body.token ?? "", cookiesOf(headers) || null);
  return Object.assign(session, { id: body.session.id, authenticatedAtMs: step.nowMs, hasTwoFactors });
}

/** The first half of a sign-in succeeded. */
export function addChallenge(step: Step, account: Account, text: string): void {
  account.sawSecondFactor(true);
  account.addCode("sign-in challenge", text, "", true).expiresAtMs = step.nowMs + CHALLENGE_MS;
}

/** Completes a sign-in once, or by two factors at the same time. Its challenge works once, and so does a code. */
export async function completeSignIn(step: Step, challenge: Code): Promise<void> {
  const { account, text, works } = challenge;
  const { random, world } = step;
  if (random.chance(0.05)) await new Promise((resolve) => setTimeout(resolve, CHALLENGE_MS + CLOCKS_MS + 1_000));
  const proof = await secondFactor(step, account);
  if (!proof) return;
  const other = random.chance(0.4) ? random.pick([proof, await secondFactor(step, account)]) : null;
  const [isSure, couldWork] = [works.is(true) && step.nowMs < challenge.expiresAtMs, works.canBe(true)];
  challenge.mayEnd();
  const browser = text.includes("=") ? { cookie: text, headers: { origin: world.origin } } : null;
  const send = ({ json }: Proof) =>
    step.send(`complete a sign-in of ${account.name}`, "POST", "/api/auth/login/factor", {
      ...browser,
      json: browser ? json : { challenge: text, ...json },
    });
  const proofs = other ? [proof, other] : [proof];
  const sentAtMs = step.nowMs;
  const answers = await Promise.all(proofs.map(send));
  if (answers.filter(({ outcome }) => outcome === "done").length > 1)
    throw new Violation("sign-in challenge works twice", account.name);
  for (const [i, answer] of answers.entries()) {
    if (answer.outcome !== "done") continue;
    if (!couldWork) throw new Violation("ended sign-in challenge works", account.name);
    if (sentAtMs > challenge.expiresAtMs + CLOCKS_MS)
      throw new Violation("expired sign-in challenge works", account.name);
    challenge.end();
    proofs[i]?.saw(true);
    signedIn(step, account, answer, true);
  }
  const [{ body }] = answers as [Sent];
  if (answers.length > 1) return;
  if (body?.code === "invalid_code") proof.saw(false);
  if (body?.code !== "invalid_challenge") return;
  if (isSure && !step.isDisturbed()) throw new Violation("sign-in challenge is refused", account.name);
  challenge.end();
}

/** An answer about the app that an account has, or has not. */
function sawApp({ app, name }: Account, isThere: boolean): void {
  if (isThere ? app.is(null) : !app.canBe(null))
    throw new Violation(isThere ? "removed app works" : "app is lost", name);
  app.rule(null, !isThere);
}

export async function addApp(step: Step, session: Session): Promise<void> {
  const { account, token } = session;
  const { random } = step;
  const { json, saw } = await prove(step, session);
  const label = `an authenticator app of ${account.name}`;
  const started = await step.send(`start ${label}`, "POST", "/api/auth/factors/totp", { token, json });
  saw(started);
  if (started.outcome === "unknown" || !sawSession(session, started)) return;
  if (started.outcome === "done" || started.body?.code === "factor_exists") sawApp(account, started.outcome !== "done");
  if (started.outcome !== "done" || random.chance(0.1)) return;
  const isLate = random.chance(0.08);
  if (isLate) await new Promise((resolve) => setTimeout(resolve, ENROLLMENT_MS + CLOCKS_MS + 1_000));
  const app = new AuthenticatorApp(started.body.secret);
  app.mayBeUsed = counterOf(step.nowMs);
  app.sinceMs = step.nowMs;
  account.app.maySet(app);
  Object.assign(session, { authenticatedAtMs: Number.POSITIVE_INFINITY, hasTwoFactors: true });
  const confirmation = { id: started.body.id, code: codeOf(app, app.mayBeUsed) };
  const email = step.willEmail(account, FACTOR_ADDED);
  const record = step.willRecord(account, "totp_added");
  const confirm = () =>
    step.send(`confirm ${label}`, "POST", "/api/auth/factors/totp/confirm", { token, json: confirmation });
  const answers = await Promise.all(random.chance(0.3) ? [confirm(), confirm()] : [confirm()]);
  record(answers);
  const done = answers.filter(({ outcome }) => outcome === "done");
  if (done.length > 1) throw new Violation("app is confirmed twice", account.name);
  if (done[0] && isLate) throw new Violation("expired enrollment works", account.name);
  if (done[0]) {
    email();
    account.app.set(app);
    app.used = app.mayBeUsed;
    session.authenticatedAtMs = step.nowMs;
    account.recoveryCodes = done[0].body.recoveryCodes.map((text: string) => new RecoveryCode(account, text));
  } else if (answers.every(({ outcome }) => outcome === "refused")) account.app.rule(app, false);
}

async function removeApp(step: Step, session: Session): Promise<void> {
  const { account, token } = session;
  const { json, saw } = await prove(step, session);
  const restore = step.remember(account.recoveryCodes, account.app);
  const wasThere = !account.app.canBe(null);
  account.mayLoseApp();
  const email = step.willEmail(account, FACTOR_REMOVED);
  const record = step.willRecord(account, "totp_removed");
  const label = `remove the app of ${account.name}`;
  const answer = await step.send(label, "DELETE", "/api/auth/factors/totp", { token, json });
  saw(answer);
  record([answer]);
  restore(answer);
  if (answer.outcome === "done") {
    account.loseApp();
    email();
  }
  if (answer.outcome !== "refused") return;
  if (answer.body?.code === "not_found" && wasThere && !step.isDisturbed())
    throw new Violation("app is lost", account.name);
  sawSession(session, answer);
}

async function renewCodes(step: Step, session: Session): Promise<void> {
  const { account, token } = session;
  const { json, saw } = await prove(step, session);
  const restore = step.remember(account.recoveryCodes);
  for (const code of account.recoveryCodes) code.mayEnd();
  const email = step.willEmail(account, FACTOR_ADDED);
  const record = step.willRecord(account, "recovery_codes_renewed");
  const label = `renew the recovery codes of ${account.name}`;
  const answer = await step.send(label, "POST", "/api/auth/factors/recovery-codes", { token, json });
  saw(answer);
  record([answer]);
  restore(answer);
  if (answer.outcome === "done") {
    email();
    for (const code of account.recoveryCodes) code.end();
    sawApp(account, true);
    const codes = answer.body.recoveryCodes.map((text: string) => new RecoveryCode(account, text));
    account.recoveryCodes = [...account.recoveryCodes.slice(-4), ...codes];
  }
  if (answer.outcome === "refused") sawSession(session, answer);
}

/** What the account's own list says about its factors. */
export async function seeFactors(step: Step, session: Session): Promise<void> {
  const { account, token } = session;
  const answer = await step.send(`list the factors of ${account.name}`, "GET", "/api/auth/factors", { token });
  if (answer.outcome === "unknown" || !sawSession(session, answer) || answer.outcome !== "done") return;
  const { totp, recoveryCodes, passkeys } = answer.body;
  sawApp(account, totp !== null);
  const sure = account.recoveryCodes.filter(({ works }) => works.is(true)).length;
  if (sure > (recoveryCodes?.remaining ?? 0)) throw new Violation("recovery code is lost", account.name);
  const listed = new Set(passkeys.map(({ id }: { id: string }) => id));
  for (const passkey of account.passkeys) if (passkey.id) passkey.saw(listed.has(passkey.id));
}

const hasApp = ({ app }: Account) => !app.is(null);

export const factorOperations: Operation[] = [
  onSession("add an authenticator app", 2, () => true, addApp),
  onSession("remove the authenticator app", 0.4, () => true, removeApp),
  onSession("renew recovery codes", 0.6, hasApp, renewCodes),
  onSession("list factors", 1, () => true, seeFactors),
  onSession(
    "authenticate again",
    1,
    () => true,
    async (step, session) => {
      const { json, saw } = await prove(step, session, { canBeRecent: false });
      const label = `authenticate ${session.account.name} again`;
      saw(await step.send(label, "POST", "/api/auth/reauthenticate", { token: session.token, json }));
    },
  ),
  onAccount(
    "complete a sign-in",
    4,
    (account) => account.codesOf("sign-in challenge").length > 0,
    (step, account) => completeSignIn(step, step.random.pick(account.codesOf("sign-in challenge").slice(-3))),
  ),
  onAccount("reset factors as an operator", 0.3, isIdentified, async (step, account) => {
    const restore = step.remember([...account.access, ...account.factors], account.app);
    account.mayEndAccess();
    account.mayLoseApp();
    for (const passkey of account.passkeys) passkey.mayEnd();
    const email = step.willEmail(account, FACTOR_REMOVED);
    const subject = `account=${account.id}`;
    step.model.willAudit("signed_out", subject);
    const path = `/api/admin/accounts/${account.id}/reset-factors`;
    const label = `reset the factors of ${account.name}`;
    const answer = await change(step, ["factors_reset", subject], label, ["POST", path, { json: {} }], () => true);
    restore(answer);
    if (answer.outcome !== "done") return;
    email();
    account.endAccess();
    account.loseApp();
    for (const passkey of account.passkeys) passkey.end();
  }),
];
