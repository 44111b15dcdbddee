import { PasskeyAuthenticator } from "../../support/auth/passkey-authenticator";
import type { Account, Session } from "../model/accounts";
import { Violation } from "../model/fact";
import { Passkey } from "../model/factors";
import { prove, signedIn } from "./factors";
import { type Operation, onAccount, onSession, type Step, sawSession } from "./operation";

async function addPasskey(step: Step, session: Session): Promise<void> {
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
  const add = () => step.send(`add ${label}`, "POST", "/api/auth/passkeys", { token, json: created });
  const answers = await Promise.all(random.chance(0.2) ? [add(), add()] : [add()]);
  const done = answers.filter(({ outcome }) => outcome === "done");
  if (done.length > 1) throw new Violation("passkey is added twice", account.name);
  if (done[0]) {
    passkey.works.set(true);
    passkey.id = done[0].body.id;
  } else if (answers.every(({ outcome }) => outcome === "refused")) passkey.end();
}

/** Signs in once, or twice at the same time with one assertion, which works once. */
export async function signInWithPasskey(step: Step, account: Account, passkey: Passkey): Promise<void> {
  const { random, world } = step;
  const label = `sign in ${account.name} with a passkey`;
  const options = await step.send(`start to ${label}`, "POST", "/api/auth/passkeys/sign-in/options");
  if (options.outcome !== "done") return;
  const json = { passkey: passkey.key.get(options.body, { origin: world.origin }), transport: "token" };
  const send = () => step.send(label, "POST", "/api/auth/passkeys/sign-in", { json });
  const answers = await Promise.all(random.chance(0.3) ? [send(), send()] : [send()]);
  if (answers.filter(({ outcome }) => outcome === "done").length > 1)
    throw new Violation("passkey's assertion works twice", account.name);
  for (const answer of answers) {
    if (answer.outcome === "done") {
      passkey.saw(true);
      signedIn(step, account, answer, true);
    } else if (answer.body?.code === "account_disabled") {
      passkey.saw(true);
      if (!account.isDisabled.canBe(true)) throw new Violation("account is disabled", account.name);
      account.isDisabled.set(true);
    } else if (answer.body?.reason === "credential_unknown") passkey.saw(false);
    else if (answers.length === 1 && answer.outcome === "refused" && !step.isDisturbed())
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
  const label = `remove a passkey of ${account.name}`;
  const answer = await step.send(label, "DELETE", `/api/auth/passkeys/${passkey.id}`, { token });
  saw(answer);
  restore(answer);
  if (answer.outcome === "unknown" || !sawSession(session, answer)) return;
  if (answer.body?.code === "not_found" && wasThere && !step.isDisturbed())
    throw new Violation("passkey is lost", account.name);
  if (answer.outcome !== "done") return;
  passkey.saw(true, { isOnce: true });
  account.endOthers(session);
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
