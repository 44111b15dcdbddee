import { machine } from "../machine";
import type { Account, Code, CodeKind, Session } from "../model/accounts";
import { Violation } from "../model/fact";
import { askToChangeEmail, changeEmail } from "./accounts";
import { addApp, addChallenge } from "./factors";
import { acceptInvitation } from "./invitations";
import {
  cookiesOf,
  isThere,
  newPassword,
  type Operation,
  onAccount,
  onSession,
  type Step,
  WRONG_PASSWORD,
} from "./operation";
import { addPasskey } from "./passkeys";
import { addProvider } from "./providers";

/** The links in emails that work on a page by themselves. */
export const LINKS: [kind: CodeKind, pattern: RegExp][] = [
  ["verification link", /\/verify#token=([\w-]{43})/],
  ["not-me link", /\/not-me#token=([\w.-]+)/],
  ["undo link", /\/email-change\/undo#token=([\w-]{43})/],
  ["invitation link", /\/invitation#token=([\w-]{43})/],
];

/** How much the clock of one process may have been set back between two events, at most. */
const CLOCK_MS = 1_000;
/** An email that is sent at once has arrived. */
const EMAIL_MS = 4_000;
/** Less than the time for which a change can be undone. */
const RESERVED_MS = 6 * 86_400_000;

const browserOf = ({ liveSessions }: Account) => liveSessions.find(({ cookie }) => cookie !== null);

/** Ends all sessions, for an owner who did not cause what an email reports. */
async function reportNotMe(step: Step, link: Code): Promise<void> {
  const { account, text } = link;
  const restore = step.remember(account.access);
  account.mayEndAccess();
  const record = step.willRecord(account, "reported_not_me");
  const label = `report of ${account.name}`;
  const send = () => step.submit(label, "/forms/not-me", { token: text }, "/not-me?done");
  const answers = await Promise.all(step.random.chance(0.3) ? [send(), send()] : [send()]);
  record(answers);
  const done = answers.filter(({ outcome }) => outcome === "done");
  if (done.length > 1) throw new Violation("link works twice", account.name);
  if (answers.every(({ outcome }) => outcome === "refused")) restore({ outcome: "refused" });
  if (done.length === 0) return;
  link.saw(true);
  account.exists.set(true);
  account.endAccess();
}

/** Undoes a change of the email: whoever asked for it loses everything that they may have added since. */
async function undoEmailChange(step: Step, link: Code): Promise<void> {
  const { account, text, detail } = link;
  const { email, password, app, isVerified } = account;
  const arrived = [...account.codes];
  const isNew = ({ sinceMs }: { sinceMs: number }) => sinceMs > link.arrivedAtMs + step.model.followMs + CLOCK_MS;
  const added = [...account.factors, ...account.codesOf("undo link")].filter(isNew);
  const isAppNew = app.possible.every((one) => one === null || isNew(one));
  account.emailSinceMs = 0;
  account.mayBeUndone = true;
  const restore = step.remember([...account.access, ...account.factors], email, password, app, isVerified);
  account.mayEndAccess();
  account.mayLoseApp();
  for (const factor of account.factors) factor.mayEnd();
  if (link.works.canBe(true)) {
    email.maySet(detail);
    password.maySet(null);
    isVerified.maySet(true);
  }
  const record = step.willRecord(account, "email_change_undone");
  const label = `undo a change of the email of ${account.name}`;
  const answer = await step.submit(label, "/forms/undo-email-change", { token: text }, "/sign-in?done=email_restored");
  record([answer]);
  restore(answer);
  if (answer.outcome !== "done") return;
  link.saw(true, { isOnce: true });
  account.exists.set(true);
  email.set(detail);
  password.set(null);
  isVerified.set(true);
  account.endAccess();
  account.endLinks(arrived);
  for (const one of added) one.end();
  if (isAppNew) account.loseApp();
}

/** Verifies the email: in a browser that is signed in, or with the password, which signs in. */
async function verifyEmail(step: Step, link: Code): Promise<void> {
  const { account, text } = link;
  const { random } = step;
  const links = account.codesOf("verification link");
  const restore = step.remember(links, account.isVerified);
  for (const one of links) one.mayEnd();
  if (link.works.canBe(true)) account.isVerified.maySet(true);
  const browser = random.chance(0.5) ? browserOf(account) : undefined;
  const password = random.pick(account.password.possible) ?? WRONG_PASSWORD;
  const done = "/account?done=email_verified";
  const label = `verify the email of ${account.name}`;
  const answer = browser
    ? await step.submit(label, "/forms/account/verify", { token: text }, done, browser.cookie ?? "")
    : await step.submit(label, "/forms/verify", { token: text, password }, done);
  restore(answer);
  const isChallenged = answer.headers.get("location")?.startsWith("/sign-in/factor") === true;
  if (answer.outcome !== "done" && !isChallenged) return;
  link.saw(true, { isOnce: true });
  for (const one of links) one.end();
  account.isVerified.set(true);
  if (browser) return browser.saw(true);
  account.password.set(password);
  if (isChallenged) return addChallenge(step, account, cookiesOf(answer.headers));
  if (account.isDisabled.is(true)) throw new Violation("disabled account works", account.name);
  account.sawSecondFactor(false);
  Object.assign(account.addSession("", cookiesOf(answer.headers)), {
    authenticatedAtMs: step.nowMs,
    hasTwoFactors: false,
  });
}

/** A stranger who is signed in gets nothing by the link of another account. */
async function verifyForAnother(step: Step, link: Code, { cookie, account }: Session): Promise<void> {
  const label = `use a link of ${link.account.name} as ${account.name}`;
  const next = "/account?done=email_verified";
  const answer = await step.submit(label, "/forms/account/verify", { token: link.text }, next, cookie ?? "");
  if (answer.outcome === "done") throw new Violation("link works for another", link.account.name);
}

export function followLink(step: Step, link: Code): Promise<void> {
  if (link.kind === "not-me link") return reportNotMe(step, link);
  if (link.kind === "undo link") return undoEmailChange(step, link);
  if (link.kind === "invitation link") return acceptInvitation(step, link);
  const others = step.model.accounts.filter((account) => account !== link.account && isThere(account));
  const stranger = step.random.chance(0.15) && others.map(browserOf).find((session) => session !== undefined);
  return stranger ? verifyForAnother(step, link, stranger) : verifyEmail(step, link);
}

const follow = (name: string, weight: number, kind: CodeKind) =>
  onAccount(
    name,
    weight,
    (account) => account.codesOf(kind).length > 0,
    (step, account) => followLink(step, step.random.pick(account.codesOf(kind).slice(-3))),
  );

/** Somebody changes the email, and adds what would let them in again. The owner undoes the change. */
async function changeAndUndo(step: Step, session: Session): Promise<void> {
  const { account } = session;
  const { random } = step;
  const browser = random.pick(account.liveSessions.filter(({ cookie }) => cookie !== null));
  const changeAgain = () => changeEmail(step, account).then(() => askToChangeEmail(step, session));
  const adds = [() => addApp(step, session), () => addPasskey(step, session), changeAgain];
  if (browser) adds.push(() => addProvider(step, browser));
  const arrived = account.codesOf("undo link").length;
  await askToChangeEmail(step, session);
  await new Promise((resolve) => setTimeout(resolve, EMAIL_MS));
  const link = account.codesOf("undo link")[arrived];
  if (!link) return;
  await random.pick(adds)();
  await new Promise((resolve) => setTimeout(resolve, EMAIL_MS));
  await undoEmailChange(step, link);
}

/** An email to which an account may return. It cannot while the change that it was told of is undone. */
const reserved = ({ codes, email, exists, mayBeUndone }: Account, nowMs: number): Code[] =>
  codes.filter(({ kind, detail, arrivedAtMs }) => {
    const isLeft = kind === "undo link" && !email.canBe(detail) && nowMs - arrivedAtMs < RESERVED_MS;
    return isLeft && exists.is(true) && !mayBeUndone;
  });

export const linkOperations: Operation[] = [
  onAccount(
    "register a former email",
    0.5,
    (account) => reserved(account, machine.nowMs()).length > 0,
    async (step, account) => {
      const link = step.random.pick(reserved(account, step.nowMs));
      if (!link) return;
      const json = { email: link.detail, password: newPassword(step.random), transport: "token" };
      const label = `register a former email of ${account.name}`;
      const answer = await step.send(label, "POST", "/api/auth/register", { json });
      if (answer.outcome === "done") throw new Violation("reserved email is taken", account.name);
    },
  ),
  onAccount("ask for a verification", 1, isThere, async (step, account) => {
    const json = { email: step.random.pick(account.email.possible) };
    await step.send(`ask for a verification of ${account.name}`, "POST", "/api/auth/verification/resend", { json });
    if (step.random.chance(0.7)) await new Promise((resolve) => setTimeout(resolve, 4_000));
  }),
  follow("verify the email", 3, "verification link"),
  follow("report that it was not me", 0.5, "not-me link"),
  follow("undo a change of the email", 1, "undo link"),
  onSession("change the email and undo it", 0.5, ({ isVerified }) => isVerified.canBe(true), changeAndUndo),
];
