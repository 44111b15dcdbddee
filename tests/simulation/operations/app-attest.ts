import { createHash } from "node:crypto";
import {
  type AttestKey,
  mintAssertion,
  mintAttestation,
  newAttestKey,
  newAuthority,
  TEAM_ID,
} from "@/dev/app-attest/app-attest";
import type { Account, Session } from "../model/accounts";
import { Violation } from "../model/fact";
import { Device } from "../model/push";
import { hasSession, type Operation, onAccount, type Sent, type Step, sawSession } from "./operation";
import { appSession, BUNDLE_ID, challengePhone, newToken, type Registration, registerAs, signedBy } from "./push";

/** A phone with a key that Apple has attested. */
export class Phone extends Device {
  /** The newest counter that was sent, and that was accepted. */
  counter = 0;
  accepted = 0;
  key: AttestKey = newAttestKey();
  environment: "sandbox" | "production" = "sandbox";

  get registration(): Registration {
    const { address: token, environment, id: name, locale } = this;
    return { token, environment, device: { name, locale } };
  }
}

/** Another authority than the one that the service trusts. */
const stranger = newAuthority();
const appId = `${TEAM_ID}.${BUNDLE_ID}`;

export const isPhone = (device: Device): device is Phone => device instanceof Phone;
const phonesOf = ({ devices }: { devices: readonly Device[] }) => devices.filter(isPhone);

function newPhone(step: Step, account: Account, session: Session, locale = step.random.pick(["de", "en"])): Phone {
  const phone = new Phone(account, session, newToken(step), step.random.uuid(), locale);
  phone.mayEnd();
  account.devices.push(phone);
  return phone;
}

const hashOf = (data: Buffer) => createHash("sha256").update(data).digest();

/** Sends evidence, perhaps twice at the same time: a challenge works once. */
async function prove(step: Step, session: Session, phone: Phone, evidence: object): Promise<Sent[]> {
  const json = { ...phone.registration, evidence: { type: "app_attest", ...evidence } };
  const send = () => registerAs(step, "prove a phone", session, json);
  const answers = await Promise.all(step.random.chance(0.3) ? [send(), send()] : [send()]);
  if (answers.filter(({ outcome }) => outcome === "done").length > 1)
    throw new Violation("challenge works twice", phone.account.name);
  for (const answer of answers) if (answer.outcome !== "unknown") sawSession(session, answer);
  return answers;
}

/** What the answers show. `forged`: what the evidence lacks. Returns whether it was accepted; null: perhaps. */
function sawProof(
  step: Step,
  phone: Phone,
  answers: readonly Sent[],
  { forged, mustWork }: { forged: string | null; mustWork: boolean },
): boolean | null {
  const { name } = phone.account;
  const isDone = answers.some(({ outcome }) => outcome === "done");
  if (isDone && forged !== null) throw new Violation(`evidence without its ${forged} works`, name);
  if (isDone) return true;
  if (answers.some(({ outcome }) => outcome === "unknown")) return null;
  const [{ body }] = answers as [Sent];
  if (body?.code === "evidence_invalid" && mustWork && !step.isDisturbed())
    throw new Violation("evidence is refused", `${name}: ${body.reason}`);
  return false;
}

/** A new phone attests its key. */
async function attest(step: Step, account: Account): Promise<void> {
  const { random } = step;
  const session = appSession(step, account);
  if (!session) return;
  const phone = newPhone(step, account, session);
  phone.environment = random.pick(["sandbox", "production"]);
  const challenged = await challengePhone(step, session, phone, phone.registration);
  if (!challenged) return;
  const { challengeId, pushNonce } = challenged;
  const { key, environment } = phone;
  const forged = random.pick([
    ...Array(7).fill(null),
    ...(["authority", "nonce", "app", "environment", "account", "counter"] as const),
  ]);
  const signed = forged === "nonce" ? { ...challenged, pushNonce: `${pushNonce.slice(1)}A` } : challenged;
  const signer = forged === "account" ? { ...account, id: random.uuid() } : account;
  const parts = {
    key,
    clientDataHash: hashOf(signedBy(signer as Account, phone.registration, signed)),
    appId: forged === "app" ? `${TEAM_ID}.com.example.other` : appId,
    environment: forged === "environment" ? ("production" === environment ? "sandbox" : "production") : environment,
  } as const;
  const attestation = mintAttestation(parts, {
    ...(forged === "authority" && { issuedBy: stranger }),
    ...(forged === "counter" && { counter: 1 }),
  });
  const evidence = { challengeId, pushNonce, keyId: key.keyId.toString("base64") };
  const answers = await prove(step, session, phone, { ...evidence, attestation: attestation.toString("base64") });
  const isProved = sawProof(step, phone, answers, { forged, mustWork: forged === null });
  if (isProved) phone.verified();
  else if (isProved === false) phone.end();
}

/** The app has got a new token: the phone proves with its key that it is the same one. */
async function assertAgain(step: Step, account: Account): Promise<void> {
  const { model, random } = step;
  const session = appSession(step, account);
  const strangers = model.accounts.filter((one) => one !== account).flatMap(phonesOf);
  const foreign = random.chance(0.15) ? random.pick(strangers) : undefined;
  const old = foreign ?? random.pick(phonesOf(account).slice(-3));
  if (!session || !old) return;
  const phone = Object.assign(newPhone(step, account, session, old.locale), {
    key: old.key,
    counter: old.counter,
    accepted: old.accepted,
    environment: old.environment,
  });
  const challenged = await challengePhone(step, session, phone, phone.registration);
  if (!challenged) return;
  const { challengeId, pushNonce } = challenged;
  const own = phonesOf(account).filter((one) => one.key === old.key && one !== phone);
  // One that APNs has reported keeps its key.
  const isKeyGone = own.every(({ works, isGone }) => works.is(false) && !isGone);
  const isSure = !foreign && own.some(({ works }) => works.is(true));
  const wrong = random.pick([...Array(6).fill(null), "counter", "signature"] as const);
  const forged = foreign ? "own key" : isKeyGone ? "known key" : wrong;
  const newest = Math.max(old.counter, ...own.map((one) => one.counter));
  const counter = wrong === "counter" ? old.accepted : newest + 1 + random.below(3);
  for (const one of [...own, phone]) one.counter = Math.max(one.counter, counter);
  const clientDataHash = hashOf(signedBy(account, phone.registration, challenged));
  const key = wrong === "signature" ? newAttestKey() : old.key;
  const assertion = mintAssertion({ key, clientDataHash, appId }, counter);
  const restore = step.remember(own);
  for (const one of own) one.mayEnd();
  const evidence = { challengeId, pushNonce, keyId: old.key.keyId.toString("base64") };
  const answers = await prove(step, session, phone, { ...evidence, assertion: assertion.toString("base64") });
  const isProved = sawProof(step, phone, answers, { forged, mustWork: isSure && forged === null });
  if (isProved === null) return;
  if (!isProved) {
    restore({ outcome: "refused" });
    return phone.end();
  }
  for (const one of own) one.end();
  phone.accepted = counter;
  phone.verified();
}

export const attestOperations: Operation[] = [
  onAccount("attest a phone", 1.2, (account) => hasSession(account) && account.id !== null, attest),
  onAccount(
    "assert with the key of a phone",
    1.5,
    (account) => hasSession(account) && account.id !== null && phonesOf(account).length > 0,
    assertAgain,
  ),
];
