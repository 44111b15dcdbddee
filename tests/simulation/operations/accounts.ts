import type { Account, Code, Session } from "../model/accounts";
import { Violation } from "../model/fact";
import { addChallenge, prove, signedIn } from "./factors";
import {
  cookiesOf,
  hasSession,
  isThere,
  newPassword,
  type Operation,
  onAccount,
  onSession,
  type Sent,
  type Step,
  sawSession,
  WRONG_PASSWORD,
} from "./operation";

export async function logIn(step: Step, account: Account, password: string, email?: string): Promise<void> {
  const { random } = step;
  const address = email ?? random.pick(account.email.possible);
  const json = { email: address, password, transport: "token" };
  const answer = await step.send(`log in ${account.name}`, "POST", "/api/auth/login", { json });
  if (answer.outcome === "unknown") return;
  const isDisabled = answer.body?.code === "account_disabled";
  const isChallenged = answer.body?.code === "second_factor_required";
  const isRight = answer.outcome === "done" || isDisabled || isChallenged;
  account.sawPassword(address, password, isRight);
  if (
    isDisabled !== account.isDisabled.is(true) &&
    !account.isDisabled.canBe(isDisabled) &&
    password !== WRONG_PASSWORD
  )
    if (isRight) throw new Violation(isDisabled ? "account is disabled" : "disabled account works", account.name);
  if (isRight) account.isDisabled.set(isDisabled);
  if (isChallenged) addChallenge(step, account, answer.body.challenge);
  if (answer.outcome !== "done") return;
  account.sawSecondFactor(false);
  signedIn(step, account, answer, false);
}

/** With a password that it had before, if there is one. */
export const logInWrongly = (step: Step, account: Account) =>
  logIn(step, account, account.password.former.find((one) => one !== null) ?? WRONG_PASSWORD);

export async function seeSession(step: Step, session: Session): Promise<void> {
  const { account } = session;
  const number = account.sessions.indexOf(session);
  const sent = session.cookie ? { cookie: session.cookie } : { token: session.token };
  const answer = await step.send(`use session ${number} of ${account.name}`, "GET", "/api/auth/session", sent);
  if (answer.outcome === "unknown") return;
  const user = answer.body?.user;
  if (user && account.id !== null && user.id !== account.id)
    throw new Violation("account sees another", `${account.name} sees ${user.id}`);
  account.id ??= user?.id ?? null;
  session.saw(Boolean(user));
  if (!user) account.endSession(session);
}

async function changePassword(step: Step, session: Session): Promise<void> {
  const { account } = session;
  const next = newPassword(step.random);
  const before = account.password.possible;
  const links = account.codesOf("reset link");
  const { json, saw } = await prove(step, session);
  const restore = step.remember([...account.access, ...links], account.password);
  account.password.maySet(next);
  const email = step.willEmail(account, "Your password was changed");
  const own = account.devices.filter((device) => device.session === session);
  const ownBefore = own.map(({ works }) => works.possible);
  account.mayEndAccess();
  const record = step.willRecord(account, "password_changed");
  const keep = session.mayBeSucceeded();
  const answer = await step.send(`change the password of ${account.name}`, "POST", "/api/auth/password/change", {
    token: session.token,
    json: { ...json, newPassword: next },
  });
  saw(answer);
  record([answer]);
  restore(answer);
  if (answer.outcome === "refused") keep();
  if (answer.outcome !== "done") return;
  if (!before.includes(json.password ?? null)) throw new Violation("wrong password works", account.name);
  account.exists.set(true);
  account.password.set(next);
  email();
  account.endAccess();
  for (const link of links) link.end();
  const successor = account.succeed(session, answer.body.token);
  // Its own session goes on under the new token, and with it its devices.
  for (const [i, device] of own.entries()) {
    device.session = successor;
    device.works.restore(ownBefore[i] ?? []);
  }
}

const isOfEmail =
  ({ email }: Account) =>
  ({ detail }: Code) =>
    email.canBe(detail);

/** A stranger who is signed in does not get the email of another account. */
async function confirmForAnother(step: Step, { account, text }: Code): Promise<void> {
  const others = step.model.accounts.filter((other) => other !== account && isThere(other));
  const stranger = step.random.pick(others.flatMap(({ liveSessions }) => liveSessions.filter(({ cookie }) => !cookie)));
  if (!stranger) return;
  const label = `change the email of ${account.name} as ${stranger.account.name}`;
  const sent = { token: stranger.token, json: { token: text } };
  const { outcome } = await step.send(label, "POST", "/api/auth/email/change/confirm", sent);
  if (outcome === "done") throw new Violation("link works for another", account.name);
}

export async function askToChangeEmail(step: Step, session: Session): Promise<void> {
  const { account, token } = session;
  const { json, saw } = await prove(step, session);
  const email = account.emailNumber(account.emails++);
  const links = account.codesOf("email link");
  const restore = step.remember(links);
  for (const link of links) link.mayEnd();
  // An earlier notice may have undone the change by the time that this one is sent.
  const isNoticed = account.isVerified.is(true) && !account.codesOf("undo link").some(isOfEmail(account));
  const notice = step.willEmail(account, "Change of your email address");
  const record = step.willRecord(account, "email_change_requested");
  const answer = await step.send(`ask to change the email of ${account.name}`, "POST", "/api/auth/email/change", {
    token,
    json: { ...json, email },
  });
  saw(answer);
  record([answer]);
  restore(answer);
  if (answer.outcome !== "done") return;
  for (const link of links) link.end();
  if (isNoticed) notice();
}

export async function changeEmail(step: Step, account: Account): Promise<void> {
  const session: Session | undefined = step.random.pick(account.liveSessions);
  const link: Code | undefined = step.random.pick(account.codesOf("email link").slice(-3));
  if (!session || session.cookie || !link) return;
  if (step.random.chance(0.15)) return confirmForAnother(step, link);
  const sentAtMs = step.nowMs;
  const before = account.email.possible;
  if (link.works.canBe(true)) account.email.maySet(link.detail);
  const restore = step.remember([], account.isVerified);
  account.isVerified.maySet(true);
  for (const code of account.codes) if (/ link$/.test(code.kind)) code.mayEnd();
  account.askedAtMs = null;
  const email = step.willEmail(account, "Your email address was changed");
  const record = step.willRecord(account, "email_changed");
  const answer = await step.send(`change the email of ${account.name}`, "POST", "/api/auth/email/change/confirm", {
    token: session.token,
    json: { token: link.text },
  });
  record([answer]);
  restore(answer);
  if (answer.outcome === "done") {
    link.saw(true, { isOnce: true });
    account.exists.set(true);
    account.isVerified.set(true);
    account.email.set(link.detail);
    account.emailSinceMs = sentAtMs;
    email();
    account.endLinks();
  } else if (answer.outcome === "refused" && !before.includes(link.detail)) account.email.rule(link.detail, false);
}

/** A way to sign in that a link sets. */
export type NewWay = { json: object; subject: string; may: () => void; done: () => void; refused: () => void };

export function newPasswordOf({ random }: Step, { password }: Account): NewWay {
  const text = newPassword(random);
  const before = password.possible;
  return {
    json: { password: text },
    subject: "Your password was changed",
    may: () => password.maySet(text),
    done: () => password.set(text),
    refused: () => {
      if (!before.includes(text)) password.rule(text, false);
    },
  };
}

/** Follows a link that sets a way to sign in once: of several that are sent at the same time, one. */
export async function setByLink(
  step: Step,
  link: Code,
  ways: readonly NewWay[],
  { label, path, event }: { label: string; path: string; event: string },
): Promise<Sent[]> {
  const { account, text: token } = link;
  const arrived = [...account.codes];
  const restore = step.remember([...account.access, ...account.factors], account.app, account.isVerified);
  let takenOver = () => {};
  account.askedAtMs = null;
  const emails = ways.map(({ subject }) => step.willEmail(account, subject));
  const sentAtMs = step.nowMs;
  if (link.works.canBe(true) && account.exists.canBe(true)) {
    account.mayEndAccess();
    takenOver = account.mayTakeOver();
    for (const way of ways) way.may();
  }
  const record = step.willRecord(account, event);
  const send = ({ json }: NewWay) =>
    step.send(`${label} of ${account.name}`, "POST", path, { json: { token, ...json } });
  const answers = await Promise.all(ways.map(send));
  record(answers);
  const done = answers.findIndex(({ outcome }) => outcome === "done");
  if (answers.filter(({ outcome }) => outcome === "done").length > 1)
    throw new Violation("link works twice", account.name);
  if (done >= 0) {
    link.saw(true, { isOnce: true, nowMs: sentAtMs });
    emails[done]?.();
    account.exists.set(true);
    account.endAccess();
    account.endLinks(arrived);
    takenOver();
    // Another attempt without an answer would have found the link used.
    for (const [i, way] of ways.entries()) if (i !== done) way.refused();
    ways[done]?.done();
  } else if (answers.every(({ outcome }) => outcome === "refused")) {
    restore({ outcome: "refused" });
    for (const way of ways) way.refused();
  }
  return answers;
}

export const accountOperations: Operation[] = [
  {
    name: "register",
    weight: 1.5,
    start: async (step) => {
      const { model, random } = step;
      const password = newPassword(random);
      const account = model.addAccount(password);
      account.isBusy = true;
      const json = { email: account.emailNumber(0), password, transport: "token" };
      const answer = await step.send(`register ${account.name}`, "POST", "/api/auth/register", { json });
      account.isBusy = false;
      // A request whose commit was lost is refused when it is repeated: the email is taken.
      if (answer.outcome === "refused") throw new Violation("registration is refused", account.name);
      if (answer.outcome === "unknown") return;
      signedIn(step, account, answer, false);
    },
  },
  onAccount("log in", 4, isThere, (step, account) =>
    logIn(step, account, step.random.pick(account.password.possible) ?? WRONG_PASSWORD),
  ),
  onAccount("log in with a wrong password", 1, isThere, logInWrongly),
  onAccount("log in through the form", 2, isThere, async (step, account) => {
    const { random } = step;
    const email = random.pick(account.email.possible);
    const password = random.pick(account.password.possible) ?? WRONG_PASSWORD;
    // A sign-in ends the session that the browser had.
    const old = random.chance(0.4)
      ? random.pick(account.liveSessions.filter(({ cookie }) => cookie !== null))
      : undefined;
    if (old) account.mayEndSession(old);
    const answer = await step.send(`sign in ${account.name} by the form`, "POST", "/forms/sign-in", {
      form: { email, password },
      headers: { origin: step.world.origin },
      ...(old?.cookie && { cookie: old.cookie }),
    });
    const cookie = cookiesOf(answer.headers);
    const isChallenged = answer.headers.get("location")?.startsWith("/sign-in/factor") === true;
    if (!isChallenged && !/session/.test(cookie)) return;
    account.sawPassword(email, password, true);
    if (account.isDisabled.is(true)) throw new Violation("disabled account works", account.name);
    account.isDisabled.set(false);
    if (isChallenged) return addChallenge(step, account, cookie);
    account.sawSecondFactor(false);
    if (old) account.endSession(old);
    Object.assign(account.addSession("", cookie), { authenticatedAtMs: step.nowMs, hasTwoFactors: false });
  }),
  onAccount(
    "use session",
    6,
    ({ sessions }) => sessions.length > 0,
    (step, account) => seeSession(step, step.random.pick(account.sessions.slice(-5))),
  ),
  onAccount("sign out", 2, hasSession, async (step, account) => {
    const session = step.random.pick(account.liveSessions);
    if (session.cookie) return;
    account.mayEndSession(session);
    const form = { token: session.token, client_id: "cli" };
    const label = `sign out session ${account.sessions.indexOf(session)} of ${account.name}`;
    const answer = await step.send(label, "POST", "/api/auth/oauth/revoke", { form });
    if (answer.outcome === "done") account.endSession(session);
    if (answer.outcome === "refused") throw new Violation("sign-out is refused", account.name);
  }),
  onSession("change password", 2, () => true, changePassword),
  onAccount("ask for a reset", 3, isThere, async (step, account) => {
    const json = { email: step.random.pick(account.email.possible) };
    for (const code of account.codesOf("reset link")) code.mayEnd();
    const label = `ask for a reset of ${account.name}`;
    const arrived = account.resetEmails;
    const askedAtMs = step.nowMs;
    const answer = await step.send(label, "POST", "/api/auth/reset/request", { json });
    const isSure = account.exists.is(true) && account.email.is(json.email) && account.isDisabled.is(false);
    // The email is sent after a random delay.
    if (answer.outcome === "done" && step.random.chance(0.7))
      await new Promise((resolve) => setTimeout(resolve, 4_000));
    if (answer.outcome === "done" && isSure && account.resetEmails === arrived) account.askedAtMs = askedAtMs;
  }),
  onAccount(
    "reset password",
    5,
    (account) => account.codesOf("reset link").length > 0,
    async (step, account) => {
      const { random } = step;
      const link = random.pick(account.codesOf("reset link").slice(-3));
      const ways = [newPasswordOf(step, account), newPasswordOf(step, account)].slice(0, random.pick([1, 1, 2]));
      const request = { label: "reset the password", path: "/api/auth/reset/confirm", event: "password_reset" };
      const answers = await setByLink(step, link, ways, request);
      if (answers.every(({ outcome }) => outcome === "refused")) link.saw(false, { nowMs: Number.POSITIVE_INFINITY });
    },
  ),
  onSession("ask to change the email", 1, () => true, askToChangeEmail),
  onAccount(
    "change the email",
    2,
    (account) => hasSession(account) && account.codesOf("email link").length > 0,
    changeEmail,
  ),
  onSession(
    "export",
    0.5,
    () => true,
    async (step, session) => {
      const { account, token } = session;
      const record = step.willRecord(account, "exported");
      const answer = await step.send(`export ${account.name}`, "GET", "/api/auth/account/export", { token });
      record([answer]);
      if (answer.outcome === "unknown") return;
      if (!sawSession(session, answer) || answer.outcome !== "done") return;
      if (!account.email.canBe(answer.body.account.email))
        throw new Violation("export of another account", account.name);
      account.email.set(answer.body.account.email);
      const text = JSON.stringify(answer.body);
      for (const other of step.model.accounts) {
        if (other === account || !other.exists.is(true)) continue;
        const ids = [...other.sessions, ...other.passkeys].flatMap(({ id }) => id ?? []);
        if ([`person-${other.number}-`, ...ids].some((one) => text.includes(one)))
          throw new Violation("export of another account", `${account.name} sees ${other.name}`);
      }
    },
  ),
  onSession(
    "delete account",
    0.4,
    () => true,
    async (step, session) => {
      const { account, token } = session;
      const { json, saw } = await prove(step, session);
      const restore = step.remember(account.access, account.exists);
      account.exists.maySet(false);
      account.mayEndAccess();
      const passwords = account.password.possible;
      const sent = { token, json: { ...json, confirm: "DELETE" } };
      const record = step.willRecord(account, "account_deleted");
      const answer = await step.send(`delete ${account.name}`, "POST", "/api/auth/account/delete", sent);
      saw(answer);
      record([answer]);
      restore(answer);
      if (answer.outcome !== "done") return;
      if (!passwords.includes(null) && !passwords.includes(json.password ?? null))
        throw new Violation("step-up is skipped", account.name);
      account.remove();
      account.mustBeTold = true;
    },
  ),
  {
    name: "race for an email",
    weight: 0.4,
    start: async (step) => {
      const { model, random } = step;
      const accounts = [newPassword(random), newPassword(random)].map((password) => model.addAccount(password));
      const email = accounts[0]?.emailNumber(0) ?? "";
      for (const account of accounts) {
        account.isUnclear = true;
        account.email.set(email);
      }
      const register = (account: Account) =>
        step.send(`register ${account.name} with the same email`, "POST", "/api/auth/register", {
          json: { email, password: account.password.possible[0], transport: "token" },
        });
      const answers = await Promise.all(accounts.map(register));
      if (answers.filter(({ outcome }) => outcome === "done").length > 1)
        throw new Violation("two accounts have one email", email);
      for (const [i, account] of accounts.entries()) {
        const answer = answers[i];
        account.isUnclear = answers.every(({ outcome }) => outcome !== "done");
        if (answer?.outcome === "refused") account.exists.set(false);
        if (answer?.outcome !== "done") continue;
        signedIn(step, account, answer, false);
        for (const other of accounts) if (other !== account) other.exists.set(false);
      }
    },
  },
];
