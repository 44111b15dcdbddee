import type { Account, Session } from "../model/accounts";
import { Violation } from "../model/fact";
import { Identity } from "../model/factors";
import { addChallenge, checkWaysIn, FACTOR_ADDED, FACTOR_REMOVED, prove } from "./factors";
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

/** By how much the clock may be set back. */
const CLOCK_MS = 1_000;

/** What an ID token of somebody else, of another app or of the past says. */
function wrongClaims({ nowMs }: Step): Record<string, unknown>[] {
  const nowSeconds = Math.floor(nowMs / 1_000);
  const isOld = { iat: nowSeconds - 13 * 60, exp: nowSeconds + 3_600 };
  return [{ nonce: "of another request" }, { aud: "com.example.other" }, isOld];
}

/** Exchanges an ID token that Google gave to an app. */
function signInApp(step: Step, label: string, claims: Record<string, unknown>): Promise<SignIn[]> {
  const { random, world } = step;
  const nonce = random.uuid();
  const wrong = random.chance(0.1) ? random.pick(wrongClaims(step)) : null;
  const form = {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    client_id: "desktop",
    subject_token: world.google.idToken(step.nowMs, { nonce, ...claims, ...wrong }),
    subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
    nonce,
  };
  return signInOnce(step, label, async () => {
    const { outcome, body } = await step.send(label, "POST", "/api/auth/oauth/token", { form });
    const challenge = body?.error === "second_factor_required" ? body.challenge : null;
    const session = outcome === "done" ? { token: body.access_token, cookie: null } : null;
    if (wrong && (session || challenge !== null))
      throw new Violation("ID token works without its proof", `${label}: ${Object.keys(wrong)}`);
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

/** Whether one of the answers has linked the identity. */
const linked = (answers: readonly SignIn[]) =>
  answers.map((answer) => (isAccepted(answer) ? { outcome: "done" as const } : answer));

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

/** Nobody adds an identity by which another account signs in. */
async function addAnothers(step: Step, session: Session, identity: Identity, other: Account): Promise<void> {
  const { account, cookie } = session;
  const isOthers = () => identity.works.is(true) && other.exists.is(true);
  // Without a session it signs in to the other account.
  if (!isOthers() || !session.works.is(true)) return;
  account.mayEndSession(session);
  const label = `add a provider of ${other.name} to ${account.name}`;
  const answers = await signInBrowser(step, label, { sub: identity.key }, cookie ?? "");
  if (answers.some(isAccepted) && isOthers()) throw new Violation("account sees another", account.name);
}

/** Adds an identity to the account that is signed in, whatever its email: if that was just authenticated. */
export async function addProvider(step: Step, session: Session): Promise<void> {
  const { account, cookie } = session;
  const other = step.random.chance(0.15) ? step.random.pick(step.model.accounts) : account;
  const anothers = other === account ? undefined : step.random.pick(other.identities);
  if (anothers) return addAnothers(step, session, anothers, other);
  const identity = new Identity("identity", account, step.random.uuid());
  account.identities.push(identity);
  const { saw } = await prove(step, session, { hasBody: false });
  account.mayEndSession(session); // a new one replaces it
  identity.sinceMs = step.nowMs;
  const email = step.willEmail(account, FACTOR_ADDED, identity);
  const record = step.willRecord(account, "identity_linked");
  const answers = await signInBrowser(step, `add a provider to ${account.name}`, { sub: identity.key }, cookie ?? "");
  record(linked(answers));
  const accepted = answers.find(isAccepted);
  if (accepted?.session) saw({ outcome: "done", body: null });
  if (accepted) {
    email();
    sawSignIn(step, account, identity, accepted, session);
  } else if (!step.isDisturbed()) identity.end();
}

/** Links an identity by the email that both have. It takes over an account that nobody has verified. */
async function link(step: Step, account: Account): Promise<void> {
  const email = account.email.possible[0];
  if (step.random.chance(0.15)) {
    const claims = { sub: step.random.uuid(), email, email_verified: false };
    const answers = await signIn(step, `link an email to ${account.name} that nobody has verified`, claims);
    if (answers.some(isAccepted)) throw new Violation("unverified provider's email is linked", account.name);
    return;
  }
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
  identity.sinceMs = step.nowMs;
  const notice = step.willEmail(account, FACTOR_ADDED, identity);
  const claims = { sub: identity.key, email, email_verified: true, hd: "example.com" };
  const record = step.willRecord(account, "identity_linked");
  const answers = await signIn(step, `link a provider to ${account.name}`, claims);
  record(linked(answers));
  const accepted = answers.find(isAccepted);
  if (answers.every(({ outcome }) => outcome === "refused") && !accepted && !step.isDisturbed()) {
    restore({ outcome: "refused" });
    identity.end();
  }
  if (!accepted) return;
  notice();
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
  // They are listed in the order in which they were linked, unless the clock was set back between two.
  const isOrdered = sure.every(({ sinceMs }, i) => i === 0 || sinceMs > (sure[i - 1]?.sinceMs ?? 0) + CLOCK_MS);
  const identity = sure.length === may.length && isOrdered ? sure[index] : undefined;
  if (!identity) return;
  const { saw } = await prove(step, session, { hasBody: false });
  const restore = step.remember([...account.access, identity]);
  identity.mayEnd();
  account.mayEndOthers(session);
  const email = step.willEmail(account, FACTOR_REMOVED);
  const path = `/api/auth/identities/${ids[index]?.id}`;
  const record = step.willRecord(account, "identity_unlinked");
  const answer = await step.send(`unlink one of ${label}`, "DELETE", path, { token });
  saw(answer);
  record([answer]);
  restore(answer);
  if (answer.outcome !== "done") return;
  email();
  identity.end();
  account.endOthers(session);
  checkWaysIn(account);
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
  onBrowser("add a provider", 1, addProvider),
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
      const record = step.willRecord(account, "identity_linked");
      const answers = await signIn(step, `register ${account.name} with a provider`, claims);
      record(linked(answers));
      account.isBusy = false;
      const accepted = answers.find(isAccepted);
      if (!accepted) return;
      account.isVerified.set(true);
      sawSignIn(step, account, identity, accepted);
    },
  },
];
