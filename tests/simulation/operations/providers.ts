import type { Account, Session } from "../model/accounts";
import { Violation } from "../model/fact";
import { Identity } from "../model/factors";
import { addChallenge, prove } from "./factors";
import { cookiesOf, type Operation, type Outcome, onAccount, onSession, type Step, sawSession } from "./operation";
import { onBrowser } from "./sessions";

/** How a sign-in by a provider ended. `challenge`: what a second factor has to complete. */
type SignIn = {
  outcome: Outcome;
  error: string | null;
  challenge: string | null;
  session: { token: string; cookie: string | null } | null;
};

const isAccepted = ({ session, challenge }: SignIn) => session !== null || challenge !== null;

/** What the provider has given is sent, perhaps twice at the same time. It works once. */
async function signInOnce({ random }: Step, label: string, send: () => Promise<SignIn>): Promise<SignIn[]> {
  const answers = await Promise.all(random.chance(0.3) ? [send(), send()] : [send()]);
  if (random.chance(0.3)) answers.push(await send());
  if (answers.filter(isAccepted).length > 1) throw new Violation("provider's sign-in works twice", label);
  return answers;
}

/** Exchanges an ID token that Google gave to an app. */
function signInApp(step: Step, label: string, claims: Record<string, unknown>): Promise<SignIn[]> {
  const { random, world } = step;
  const nonce = random.uuid();
  const form = {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    client_id: "desktop",
    subject_token: world.google.idToken(step.nowMs, { nonce, ...claims }),
    subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
    nonce,
  };
  return signInOnce(step, label, async () => {
    const { outcome, body } = await step.send(label, "POST", "/api/auth/oauth/token", { form });
    const challenge = body?.error === "second_factor_required" ? body.challenge : null;
    const session = outcome === "done" ? { token: body.access_token, cookie: null } : null;
    return { outcome, error: body?.error ?? null, challenge, session };
  });
}

/** A browser goes to Google's page and comes back with a code. `cookie`: of who is signed in, to whom the identity is added. */
async function signInBrowser(
  step: Step,
  label: string,
  claims: Record<string, unknown>,
  cookie = "",
): Promise<SignIn[]> {
  const { random, world } = step;
  const form = { provider: "google" };
  const sent = { form, cookie, headers: { origin: world.origin } };
  const started = await step.send(`begin to ${label}`, "POST", "/forms/provider", sent);
  // Of another site: a form may not lead there by itself (CSP, `form-action`).
  const [, page = ""] = /url=(.+)/.exec(started.headers.get("refresh") ?? "") ?? [];
  if (!page.startsWith(world.google.issuer)) return [];
  const path = world.google.approve(page, random.uuid(), claims);
  const jar = [cookie, cookiesOf(started.headers)].filter(Boolean).join("; ");
  return signInOnce(step, label, async () => {
    const { outcome, headers } = await step.send(label, "GET", path, { cookie: jar });
    const next = new URL(headers.get("location") ?? "", world.origin);
    const [given, error] = [cookiesOf(headers), next.searchParams.get("error")];
    const challenge = next.pathname === "/sign-in/factor" ? given : null;
    const session = /session-token=/.test(given) ? { token: "", cookie: given } : null;
    const isUnknown = outcome === "unknown" || step.isDisturbed();
    return { outcome: session ? "done" : isUnknown ? "unknown" : "refused", error, challenge, session };
  });
}

const signIn = (step: Step, label: string, claims: Record<string, unknown>) =>
  step.random.chance(0.4) ? signInBrowser(step, label, claims) : signInApp(step, label, claims);

/** The provider has signed in to the account: by one factor, or in place of a session that had two. */
function sawSignIn(
  step: Step,
  account: Account,
  identity: Identity,
  { challenge, session }: SignIn,
  replaced?: Session,
): void {
  identity.saw(true);
  account.exists.set(true);
  if (challenge !== null) addChallenge(step, account, challenge);
  if (!session) return;
  if (account.isDisabled.is(true)) throw new Violation("disabled account works", account.name);
  account.isDisabled.set(false);
  const hasTwoFactors = replaced?.hasTwoFactors ?? false;
  if (!hasTwoFactors) account.sawSecondFactor(false);
  const added = account.addSession(session.token, session.cookie);
  Object.assign(added, { authenticatedAtMs: step.nowMs, hasTwoFactors });
}

/** Signs in by an identity that is linked, or that was unlinked: without an email, it neither links nor registers. */
export async function signInWithProvider(step: Step, account: Account, identity: Identity): Promise<void> {
  const answers = await signIn(step, `sign in ${account.name} with a provider`, { sub: identity.key });
  const accepted = answers.find(isAccepted);
  if (accepted) sawSignIn(step, account, identity, accepted);
  else if (answers.some(({ error }) => error === "identity_without_email")) identity.saw(false);
}

/** Adds an identity to the account that is signed in, whatever its email: if that was just authenticated. */
async function add(step: Step, session: Session): Promise<void> {
  const { account, cookie } = session;
  const identity = new Identity("identity", account, step.random.uuid());
  account.identities.push(identity);
  const { saw } = await prove(step, session, { hasBody: false });
  account.mayEndSession(session); // a new one replaces it
  const answers = await signInBrowser(step, `add a provider to ${account.name}`, { sub: identity.key }, cookie ?? "");
  const accepted = answers.find(isAccepted);
  if (accepted?.session) saw({ outcome: "done", body: null });
  if (accepted) sawSignIn(step, account, identity, accepted, session);
  else if (!step.isDisturbed()) identity.end();
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
  const answers = await signIn(step, `link a provider to ${account.name}`, claims);
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
  onBrowser("add a provider", 1, add),
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
      const answers = await signIn(step, `register ${account.name} with a provider`, claims);
      account.isBusy = false;
      const accepted = answers.find(isAccepted);
      if (!accepted) return;
      account.isVerified.set(true);
      sawSignIn(step, account, identity, accepted);
    },
  },
];
