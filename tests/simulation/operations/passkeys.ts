import { PasskeyAuthenticator } from "../../support/auth/passkey-authenticator";
import type { Account, Session } from "../model/accounts";
import { Violation } from "../model/fact";
import { Passkey } from "../model/factors";
import { checkWaysIn, FACTOR_ADDED, FACTOR_REMOVED, prove, signedIn } from "./factors";
import { type Operation, onAccount, onSession, type Step, sawSession } from "./operation";

/** Longer than a challenge works, whatever the clocks say. */
const CHALLENGE_MS = 5 * 60_000 + 11_000;

export async function addPasskey(step: Step, session: Session): Promise<void> {
  const { account, token } = session;
  const { random, world } = step;
  const { json, saw } = await prove(step, session);
  const label = `a passkey of ${account.name}`;
  const options = await step.send(`start ${label}`, "POST", "/api/auth/passkeys/options", { token, json });
  saw(options);
  if (options.outcome === "unknown" || !sawSession(session, options) || options.outcome !== "done") return;
  const passkey = new Passkey("passkey", account, new PasskeyAuthenticator({ hasCounter: random.chance(0.5) }));
  const created = { passkey: passkey.key.create(options.body, { origin: world.origin }) };
  account.passkeys.push(passkey);
  passkey.sinceMs = step.nowMs;
  const invitations = account.codesOf("invitation link");
  for (const one of invitations) one.mayEnd();
  const email = step.willEmail(account, FACTOR_ADDED);
  const record = step.willRecord(account, "passkey_added");
  const add = () => step.send(`add ${label}`, "POST", "/api/auth/passkeys", { token, json: created });
  const answers = await Promise.all(random.chance(0.2) ? [add(), add()] : [add()]);
  record(answers);
  const done = answers.filter(({ outcome }) => outcome === "done");
  if (done.length > 1) throw new Violation("passkey is added twice", account.name);
  if (done[0]) {
    email();
    passkey.works.set(true);
    passkey.id = done[0].body.id;
    for (const one of invitations) one.end();
  } else if (answers.every(({ outcome }) => outcome === "refused")) passkey.end();
}

/** Signs in once, or twice at the same time with one assertion, which works once. */
export async function signInWithPasskey(step: Step, account: Account, passkey: Passkey): Promise<void> {
  const { random, world } = step;
  const label = `sign in ${account.name} with a passkey`;
  const wrong = random.chance(0.2)
    ? random.pick(["challenge is expired", "challenge has another purpose", "counter is old"])
    : null;
  const session =
    wrong === "challenge has another purpose" ? account.liveSessions.find(({ cookie }) => cookie === null) : undefined;
  const options = session
    ? await step.send(`start a step-up of ${account.name}`, "POST", "/api/auth/passkeys/step-up/options", {
        token: session.token,
      })
    : await step.send(`start to ${label}`, "POST", "/api/auth/passkeys/sign-in/options");
  if (options.outcome !== "done") return;
  if (wrong === "challenge is expired") await new Promise((resolve) => setTimeout(resolve, CHALLENGE_MS));
  const isReplay = wrong === "counter is old" && passkey.counter > 0;
  const isWrong = wrong === "challenge is expired" || session !== undefined || isReplay;
  const forgery = isReplay ? { counter: passkey.counter } : {};
  const json = { passkey: passkey.key.get(options.body, { origin: world.origin, ...forgery }), transport: "token" };
  const send = () => step.send(label, "POST", "/api/auth/passkeys/sign-in", { json });
  const answers = await Promise.all(random.chance(0.3) ? [send(), send()] : [send()]);
  if (answers.filter(({ outcome }) => outcome === "done").length > 1)
    throw new Violation("passkey's assertion works twice", account.name);
  for (const answer of answers) {
    const isProved = answer.outcome === "done" || answer.body?.code === "account_disabled";
    if (isWrong && isProved) throw new Violation("passkey works without its proof", `${account.name}: its ${wrong}`);
    if (answer.outcome === "done") {
      passkey.saw(true);
      passkey.counter = passkey.key.credentials[0]?.counter ?? 0;
      signedIn(step, account, answer, true);
    } else if (answer.body?.code === "account_disabled") {
      passkey.saw(true);
      if (!account.isDisabled.canBe(true)) throw new Violation("account is disabled", account.name);
      account.isDisabled.set(true);
    } else if (answer.body?.reason === "credential_unknown") passkey.saw(false);
    else if (!isWrong && answers.length === 1 && answer.outcome === "refused" && !step.isDisturbed())
      throw new Violation("passkey is refused", `${account.name}: ${answer.body?.reason ?? answer.body?.code}`);
  }
}

async function removePasskey(step: Step, session: Session): Promise<void> {
  const { account, token } = session;
  const passkey = step.random.pick(account.passkeys);
  if (!passkey.id) return;
  const { saw } = await prove(step, session, { hasBody: false });
  const restore = step.remember([...account.access, passkey]);
  const wasThere = passkey.works.is(true);
  passkey.mayEnd();
  account.mayEndOthers(session);
  const email = step.willEmail(account, FACTOR_REMOVED);
  const record = step.willRecord(account, "passkey_removed");
  const label = `remove a passkey of ${account.name}`;
  const answer = await step.send(label, "DELETE", `/api/auth/passkeys/${passkey.id}`, { token });
  saw(answer);
  record([answer]);
  restore(answer);
  if (answer.outcome === "unknown" || !sawSession(session, answer)) return;
  if (answer.body?.code === "not_found" && wasThere && !step.isDisturbed())
    throw new Violation("passkey is lost", account.name);
  if (answer.outcome !== "done") return;
  email();
  passkey.saw(true, { isOnce: true });
  account.endOthers(session);
  checkWaysIn(account);
}

export const passkeyOperations: Operation[] = [
  onSession("add a passkey", 1.5, () => true, addPasskey),
  onSession("remove a passkey", 0.6, ({ passkeys }) => passkeys.length > 0, removePasskey),
  onAccount(
    "sign in with a passkey",
    2.5,
    ({ passkeys }) => passkeys.length > 0,
    (step, account) => signInWithPasskey(step, account, step.random.pick(account.passkeys.slice(-3))),
  ),
];
