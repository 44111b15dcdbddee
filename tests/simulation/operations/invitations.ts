import { PasskeyAuthenticator } from "../../support/auth/passkey-authenticator";
import type { Account, Code } from "../model/accounts";
import { Violation } from "../model/fact";
import { Passkey } from "../model/factors";
import { logIn, type NewWay, newPasswordOf, setByLink } from "./accounts";
import { FACTOR_ADDED } from "./factors";
import { isIdentified, type Operation, onAccount, type Step } from "./operation";
import { change } from "./operators";
import { signInWithPasskey } from "./passkeys";

const SUBJECT = "Set up your account at Homeport";
/** An email that is sent at once has arrived. */
const EMAIL_MS = 4_000;

/** Those that were sent, each with the text "", and those that have arrived: which one an email carries is not always known. */
const invitations = (account: Account) => account.codesOf("invitation link");
const arrived = (account: Account) => invitations(account).filter(({ text }) => text !== "");
const hasWayIn = ({ password, passkeys }: Account) =>
  !password.canBe(null) || passkeys.some(({ works }) => works.is(true));
/** Whether its owner can only sign in by an invitation, a reset or a provider. */
const isLocked = ({ exists, password, passkeys, isDisabled }: Account) =>
  exists.is(true) && password.is(null) && !passkeys.some(({ works }) => works.canBe(true)) && isDisabled.is(false);

/** An invitation is sent. It replaces those before, as soon as the returned function is called. */
function willInvite(step: Step, account: Account): () => void {
  const before = [...invitations(account)];
  const sent = account.addCode("invitation link", "", "");
  const email = step.willEmail(account, SUBJECT, sent);
  for (const one of before) one.mayEnd();
  return () => {
    sent.works.set(true);
    sent.arrivedAtMs = step.nowMs;
    email();
    for (const one of before) one.end();
  };
}

/** The only invitation of an account has arrived: its link is the one that was sent. */
async function waitForEmail(step: Step, account: Account): Promise<void> {
  if (step.random.chance(0.8)) await new Promise((resolve) => setTimeout(resolve, EMAIL_MS));
  const [[link, another], sent] = [arrived(account), invitations(account).filter(({ text }) => text === "")];
  if (link && !another && sent.length === 1 && sent[0]?.works.is(true) && !step.isDisturbed()) link.works.set(true);
}

async function createAccount(step: Step): Promise<void> {
  const { model, random } = step;
  const account = model.addAccount(null);
  account.isBusy = true;
  const invite = random.chance(0.8);
  const invited = invite ? willInvite(step, account) : () => {};
  const audits = ["account_created", ...(invite ? ["account_invited"] : [])].map((type) => model.willAudit(type));
  const sent = { operator: "sim", json: { email: account.emailNumber(0), invite } };
  const answer = await step.send(`create ${account.name}`, "POST", "/api/admin/accounts", sent);
  if (answer.outcome === "refused") throw new Violation("account is not created", `${account.name}: ${answer.status}`);
  if (answer.outcome === "done") {
    for (const audit of audits) audit.done();
    account.exists.set(true);
    account.id = answer.body.account.id;
    invited();
    if (invite) await waitForEmail(step, account);
  }
  account.isBusy = false;
}

async function inviteAgain(step: Step, account: Account): Promise<void> {
  const [mustWork, mayWork] = [isLocked(account), !hasWayIn(account) && !account.isDisabled.is(true)];
  const restore = step.remember(invitations(account));
  const invited = willInvite(step, account);
  const subject = `account=${account.id}`;
  const path = `/api/admin/accounts/${account.id}/invitation`;
  const label = `invite ${account.name}`;
  const answer = await change(step, ["account_invited", subject], label, ["POST", path, { json: {} }], () => true);
  restore(answer);
  if (answer.outcome === "done" && !mayWork) throw new Violation("account with a password is invited", account.name);
  if (answer.outcome === "refused" && mustWork && !step.isDisturbed())
    throw new Violation("account is not invited", `${account.name}: ${answer.body?.code}`);
  if (answer.outcome === "refused") invitations(account).at(-1)?.end();
  if (answer.outcome !== "done") return;
  account.exists.set(true);
  invited();
  await waitForEmail(step, account);
}

/** A passkey, for the challenge that an invitation gets. null: it gets none. */
async function newPasskeyOf(
  step: Step,
  { account, text, works }: Code,
): Promise<(NewWay & { passkey: Passkey }) | null> {
  const label = `start a passkey for the invitation of ${account.name}`;
  const json = { token: text };
  const options = await step.send(label, "POST", "/api/auth/passkeys/invitation/options", { json });
  if (options.outcome !== "done") return null;
  if (works.is(false)) throw new Violation("ended invitation link works", account.name);
  const passkey = new Passkey("passkey", account, new PasskeyAuthenticator({ hasCounter: step.random.chance(0.5) }));
  return {
    passkey,
    json: { passkey: passkey.key.create(options.body, { origin: step.world.origin }) },
    subject: FACTOR_ADDED,
    may: () => {
      passkey.sinceMs = step.nowMs;
      account.passkeys.push(passkey);
    },
    done: () => passkey.works.set(true),
    refused: () => passkey.end(),
  };
}

/** Accepts an invitation, which works once: with a password or a passkey, or with both at the same time. */
export async function acceptInvitation(step: Step, link: Code): Promise<void> {
  const { account } = link;
  const { random } = step;
  if (link.text === "") return;
  const [isDisabled, hadWayIn] = [account.isDisabled.is(true), hasWayIn(account)];
  const mustWork = link.works.is(true) && isLocked(account);
  const ways: NewWay[] = random.pick([[0], [0], [0, 0], []]).map(() => newPasswordOf(step, account));
  const withPasskey = ways.length < 2 && random.chance(0.5) ? await newPasskeyOf(step, link) : null;
  if (withPasskey) ways.push(withPasskey);
  if (ways.length === 0) return;
  const request = { label: "accept the invitation", path: "/api/auth/invitation", event: "invitation_accepted" };
  const record = withPasskey ? step.willRecord(account, "passkey_added") : () => {};
  const answers = await setByLink(step, link, ways, request);
  if (withPasskey) record(answers.slice(-1));
  const isDone = answers.some(({ outcome }) => outcome === "done");
  if (isDone && isDisabled) throw new Violation("disabled account works", account.name);
  if (isDone && hadWayIn) throw new Violation("invitation of an account with a password works", account.name);
  const isRefused = answers.every(({ outcome }) => outcome === "refused");
  if (isRefused && mustWork && !step.isDisturbed())
    throw new Violation("invitation is refused", `${account.name}: ${answers[0]?.body?.code}`);
  if (isRefused && !account.isDisabled.canBe(true)) link.end();
  if (!isDone || random.chance(0.5)) return;
  const password = account.password.possible.find((one) => one !== null);
  if (withPasskey?.passkey.works.is(true)) await signInWithPasskey(step, account, withPasskey.passkey);
  else if (password) await logIn(step, account, password);
}

/** What operators see of an account: it is a user's, and its invitation is the one that works. */
async function seeInvitation(step: Step, account: Account): Promise<void> {
  const label = `see ${account.name} as an operator`;
  const answer = await step.send(label, "GET", `/api/admin/accounts/${account.id}`, { operator: "sim" });
  if (answer.outcome !== "done") return;
  const { role, invitation, hasPassword } = answer.body;
  if (role !== "user") throw new Violation("user acts as an operator", `${account.name}: ${role}`);
  if (invitation === null && invitations(account).some(({ works }) => works.is(true)))
    throw new Violation("invitation is lost", account.name);
  if (invitation !== null && invitations(account).every(({ works }) => works.is(false)))
    throw new Violation("ended invitation is there", account.name);
  if (hasPassword ? account.password.is(null) : !account.password.canBe(null))
    throw new Violation(hasPassword ? "wrong password works" : "right password is refused", account.name);
}

export const invitationOperations: Operation[] = [
  { name: "create an account", weight: 1.2, start: createAccount },
  onAccount(
    "invite",
    1,
    (account) => isIdentified(account) && (account.password.canBe(null) || account.number % 4 === 0),
    inviteAgain,
  ),
  onAccount(
    "accept an invitation",
    2.5,
    (account) => arrived(account).length > 0,
    (step, account) => acceptInvitation(step, step.random.pick(arrived(account).slice(-3))),
  ),
  onAccount(
    "see an invitation",
    0.7,
    (account) => isIdentified(account) && invitations(account).length > 0,
    seeInvitation,
  ),
];
