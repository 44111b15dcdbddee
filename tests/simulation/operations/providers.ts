import type { Account, Session } from "../model/accounts";
import { Violation } from "../model/fact";
import { Identity } from "../model/factors";
import { addChallenge, prove } from "./factors";
import { type Operation, onAccount, onSession, type Sent, type Step, sawSession } from "./operation";

/** Exchanges an ID token that Google gave to an app, perhaps twice at the same time. A token works once. */
async function exchange(step: Step, label: string, claims: Record<string, unknown>): Promise<Sent[]> {
  const { random, world } = step;
  const nonce = random.uuid();
  const form = {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    client_id: "desktop",
    subject_token: world.google.idToken(step.nowMs, { nonce, ...claims }),
    subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
    nonce,
  };
  const send = () => step.send(label, "POST", "/api/auth/oauth/token", { form });
  const answers = await Promise.all(random.chance(0.3) ? [send(), send()] : [send()]);
  if (random.chance(0.3)) answers.push(await send());
  if (answers.filter(isAccepted).length > 1) throw new Violation("ID token works twice", label);
  return answers;
}

const isChallenged = ({ body }: Sent) => body?.error === "second_factor_required";
const isAccepted = (answer: Sent) => answer.outcome === "done" || isChallenged(answer);

/** The provider has signed in to the account: by one factor. */
function sawSignIn(step: Step, account: Account, identity: Identity, answer: Sent): void {
  identity.saw(true);
  account.exists.set(true);
  if (isChallenged(answer)) {
    addChallenge(step, account, answer.body.challenge);
    return;
  }
  if (account.isDisabled.is(true)) throw new Violation("disabled account works", account.name);
  account.isDisabled.set(false);
  account.sawSecondFactor(false);
  const session = account.addSession(answer.body.access_token);
  Object.assign(session, { authenticatedAtMs: step.nowMs, hasTwoFactors: false });
}

/** Signs in by an identity that is linked, or that was unlinked: without an email, it neither links nor registers. */
export async function signInWithProvider(step: Step, account: Account, identity: Identity): Promise<void> {
  const answers = await exchange(step, `sign in ${account.name} with a provider`, { sub: identity.key });
  const accepted = answers.find(isAccepted);
  if (accepted) sawSignIn(step, account, identity, accepted);
  else if (answers.some(({ body }) => body?.error === "identity_without_email")) identity.saw(false);
}

/** Links an identity by the email that both have. It takes over an account that nobody has verified. */
async function link(step: Step, account: Account): Promise<void> {
  const email = account.email.possible[0];
  const identity = new Identity("identity", account, step.random.uuid());
  const isVerified = account.isVerified.possible;
  const restore = step.remember(
    [...account.access, ...account.factors],
    account.app,
    account.isVerified,
    account.password,
  );
  const arrived = [...account.codes];
  const takenOver = account.mayTakeOver();
  account.identities.push(identity);
  if (isVerified.includes(false)) {
    account.mayEndAccess();
    account.password.maySet(null);
  }
  const claims = { sub: identity.key, email, email_verified: true, hd: "example.com" };
  const answers = await exchange(step, `link a provider to ${account.name}`, claims);
  const accepted = answers.find(isAccepted);
  if (answers.every(({ outcome }) => outcome === "refused") && !accepted && !step.isDisturbed()) {
    restore({ outcome: "refused" });
    identity.end();
  }
  if (!accepted) return;
  takenOver();
  if (!isVerified.includes(true)) {
    account.password.set(null);
    account.endAccess();
    account.endLinks(arrived);
  }
  sawSignIn(step, account, identity, accepted);
}

async function unlink(step: Step, session: Session): Promise<void> {
  const { account, token } = session;
  const label = `the providers of ${account.name}`;
  const listed = await step.send(`list ${label}`, "GET", "/api/auth/identities", { token });
  if (listed.outcome !== "done" || !sawSession(session, listed)) return;
  const ids: { id: string }[] = listed.body.identities;
  const sure = account.identities.filter(({ works }) => works.is(true));
  if (ids.length < sure.length) throw new Violation("identity is lost", account.name);
  const may = account.identities.filter(({ works }) => works.canBe(true));
  if (ids.length > may.length) throw new Violation("ended identity is linked", account.name);
  const index = step.random.below(ids.length);
  // They are listed in the order in which they were linked.
  const identity = sure.length === may.length ? sure[index] : undefined;
  if (!identity) return;
  const { saw } = await prove(step, session, { hasBody: false });
  const restore = step.remember([...account.access, identity]);
  identity.mayEnd();
  account.mayEndOthers(session);
  const path = `/api/auth/identities/${ids[index]?.id}`;
  const answer = await step.send(`unlink one of ${label}`, "DELETE", path, { token });
  saw(answer);
  restore(answer);
  if (answer.outcome !== "done") return;
  identity.end();
  account.endOthers(session);
}

export const providerOperations: Operation[] = [
  onAccount(
    "link a provider",
    1,
    ({ exists, email, isDisabled }) => exists.is(true) && email.possible.length === 1 && isDisabled.is(false),
    link,
  ),
  onAccount(
    "sign in with a provider",
    2,
    ({ identities }) => identities.length > 0,
    (step, account) => signInWithProvider(step, account, step.random.pick(account.identities.slice(-3))),
  ),
  onSession("unlink a provider", 0.7, ({ identities }) => identities.length > 0, unlink),
  {
    name: "register with a provider",
    weight: 0.5,
    start: async (step) => {
      const account = step.model.addAccount(null);
      account.isBusy = true;
      const identity = new Identity("identity", account, step.random.uuid());
      account.identities.push(identity);
      account.isVerified.maySet(true);
      const claims = { sub: identity.key, email: account.email.possible[0], email_verified: true, hd: "example.com" };
      const answers = await exchange(step, `register ${account.name} with a provider`, claims);
      account.isBusy = false;
      const accepted = answers.find(isAccepted);
      if (!accepted) return;
      account.isVerified.set(true);
      sawSignIn(step, account, identity, accepted);
    },
  },
];
