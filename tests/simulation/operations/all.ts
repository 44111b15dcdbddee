import { machine } from "../machine";
import type { Account, Code } from "../model/accounts";
import { Violation } from "../model/fact";
import type { Model } from "../model/model";
import type { World } from "../world";
import { accountOperations, logIn, logInWrongly, seeSession } from "./accounts";
import { attestOperations } from "./app-attest";
import { backupOperations, checkBackups } from "./backups";
import { billingOperations, deliverRest, seePurchases, seeStatus } from "./billing";
import { codeOperations, exchangeForm, sawReplay } from "./codes";
import { completeSignIn, factorOperations, seeFactors } from "./factors";
import { invitationOperations } from "./invitations";
import { followLink, LINKS, linkOperations } from "./links";
import { activitiesOf, liveActivityOperations, seeActivities } from "./live-activities";
import { mirrorOperations } from "./mirror";
import { lastEnded, newPassword, type Operation, type Step, WRONG_PASSWORD } from "./operation";
import { operatorOperations, seeKey } from "./operators";
import { passkeyOperations, signInWithPasskey } from "./passkeys";
import { providerOperations, signInWithProvider } from "./providers";
import { publisherOperations, seePublisher } from "./publishers";
import { checkMessages, notifyAll, pushOperations, seeDevices } from "./push";
import { raceOperations } from "./races";
import { checkReleases, releaseOperations, setUpReleases } from "./releases";
import { sessionOperations } from "./sessions";
import { updateOperations } from "./updates";
import { deliverAll, setUpEndpoint, webhookOperations } from "./webhooks";

/** Operations that have to do with each other. */
export const domains: Operation[][] = [
  [
    ...raceOperations,
    ...accountOperations,
    ...codeOperations,
    ...linkOperations,
    ...sessionOperations,
    ...invitationOperations,
  ],
  [...factorOperations, ...passkeyOperations, ...providerOperations],
  billingOperations,
  [...operatorOperations, ...webhookOperations, ...publisherOperations, ...backupOperations],
  [...pushOperations, ...attestOperations, ...liveActivityOperations],
  [...releaseOperations, ...updateOperations, ...mirrorOperations],
];

const MINUTE_MS = 60_000;
const DELETED = /account was deleted/;
/** How long a link that sets a password works after its email was made. */
const RESET_LINK_MS = 30 * 60_000;
/** How long a session of a browser and one of an app last without use, and in total. */
const BROWSER_DAYS = { idle: 7, total: 30 };
const APP_DAYS = { idle: 30, total: 90 };
/** How long a link works at most after its email has arrived, if that is more than a day. */
const LINK_DAYS: Partial<Record<string, number>> = { "undo link": 8, "not-me link": 30, "invitation link": 7 };
const DAY_MS = 86_400_000;
const MAX_SESSIONS = 20;

/** What an operator sets up before anything happens. */
export async function setUp(step: Step): Promise<void> {
  await setUpEndpoint(step, [
    "account.created",
    "account.deleted",
    "subscription.changed",
    "push.device_verified",
    "release.published",
  ]);
  await setUpReleases(step);
}

/** The links in emails that have arrived. */
export function readEmails(
  { delayedAtMs, followMs, outbox }: World,
  model: Model,
  from: number,
  faults: number,
): number {
  for (const { email, id, sentAtMs, since } of outbox.slice(from)) {
    model.sawArrival("email is sent", id, since, faults);
    // A link to a new email is for the account that it is made of; any other for whoever has the email.
    const number = Number(/^person-(\d+)-/.exec(email.to)?.[1]);
    const owners = model.accounts.filter(
      (one) => one.exists.canBe(true) && (one.number === number || one.email.canBe(email.to)),
    );
    if (DELETED.test(email.subject))
      for (const one of model.accounts) one.wasTold ||= one.number === number || one.email.canBe(email.to);
    const [, reset] = /\/reset#token=([\w-]{43})/.exec(email.text) ?? [];
    const [, change] = /\/email-change#token=([\w-]{43})/.exec(email.text) ?? [];
    const nowMs = machine.nowMs();
    for (const account of owners) {
      const ageMs = sentAtMs - Number(id.split(".").at(-1));
      const isLate = ageMs > RESET_LINK_MS + MINUTE_MS && sentAtMs > delayedAtMs + MINUTE_MS;
      if (reset && followMs === 0 && isLate) throw new Violation("expired email is sent", id);
      if (reset) {
        account.askedAtMs = null;
        account.resetEmails += 1;
      }
      if (reset && !account.codes.some(({ text }) => text === reset)) {
        for (const code of account.codesOf("reset link")) code.mayEnd();
        account.addCode("reset link", reset, email.to).arrivedAtMs = nowMs;
      }
      for (const [kind, pattern] of LINKS) {
        const [, token] = pattern.exec(email.text) ?? [];
        if (!token || account.codes.some(({ text }) => text === token)) continue;
        const sinceMs = account.email.is(email.to) ? account.emailSinceMs : 0;
        Object.assign(account.addCode(kind, token, email.to), { sinceMs, arrivedAtMs: nowMs });
      }
      if (change && !account.codes.some(({ text }) => text === change))
        account.addCode("email link", change, email.to).arrivedAtMs = nowMs;
      for (const code of account.codes) if (code.text === reset) code.expiresAtMs = nowMs + RESET_LINK_MS;
    }
  }
  return outbox.length;
}

/** Each change of an owner is in the audit trail once. */
async function seeEvents(step: Step, { id, name, events }: Account): Promise<void> {
  const target = `/api/admin/audit?limit=100&actor=account&account=${id}`;
  const { body } = await step.send(`see the audit trail of ${name}`, "GET", target, { operator: "sim" });
  if (body.nextCursor !== null) return;
  for (const [type, { acknowledged, unknown }] of events) {
    const count = body.events.filter((event: { type: string }) => event.type === type).length;
    const text = `${type} of ${name}: ${count}, of ${acknowledged} changes`;
    if (count < acknowledged) throw new Violation("audit event is missing", text);
    if (count > acknowledged + unknown) throw new Violation("audit event without a change", text);
  }
}

/** More often than sessions may be live. */
async function signInOften(step: Step, account: Account): Promise<void> {
  const [password] = account.password.possible;
  for (let i = 0; password && i <= MAX_SESSIONS && account.app.is(null); i++) await logIn(step, account, password);
}

/** After all faults have ceased: everything that was acknowledged is there, and nothing that was refused or ended. */
export async function checkAll(step: Step): Promise<void> {
  const { model, world } = step;
  for (const account of model.accounts.filter(({ isUnclear }) => !isUnclear)) {
    if (step.random.chance(0.02)) await signInOften(step, account);
    for (const session of account.sessions) await seeSession(step, session);
    const { length } = account.sessions.filter(({ works }) => works.is(true));
    if (length > MAX_SESSIONS) throw new Violation("too many sessions are live", `${account.name}: ${length}`);
    const [session] = account.liveSessions.filter(({ cookie }) => cookie === null);
    if (session) await seeFactors(step, session);
    for (const passkey of account.passkeys) await signInWithPasskey(step, account, passkey);
    for (const identity of account.identities) await signInWithProvider(step, account, identity);
    for (const password of [...account.password.possible]) await logIn(step, account, password ?? WRONG_PASSWORD);
    await logInWrongly(step, account);
    await seeStatus(step, account);
    await seePurchases(step, account);
    if (account.devices.length > 0) await seeDevices(step, account);
    if (account.activities.length > 0) await seeActivities(step, account, true);
    if (account.id !== null) await seeEvents(step, account);
  }
  for (const account of model.accounts) for (const code of lastEnded(account.codes, 4)) await seeEndedCode(step, code);
  for (const key of model.keys) await seeKey(step, key);
  for (const publisher of model.publishers) await seePublisher(step, publisher);
  await checkReleases(step);
  await checkBackups(step);
  const audited = new Map((await world.auditCounts()).map(({ type, count }) => [type, count]));
  for (const type of new Set([...audited.keys(), ...[...model.audited.keys()].filter((key) => !key.includes(" "))]))
    model.sawAudit(type, audited.get(type) ?? 0);
  checkDeliveries(step);
  for (const account of model.accounts) activitiesOf(account);
  await checkMessages(step);
  await checkDeleted(step);
  const { body } = await step.send("list the endpoints", "GET", "/api/admin/webhooks", { operator: "sim" });
  if (body.endpoints.some(({ status }: { status: string }) => status !== "enabled"))
    throw new Violation("endpoint that works is not enabled", JSON.stringify(body.endpoints));
}

/** Nothing is left of an account that was deleted. */
async function checkDeleted({ model, world }: Step): Promise<void> {
  const deleted = model.accounts.filter(({ exists, isUnclear }) => exists.is(false) && !isUnclear);
  const names = deleted.flatMap(({ id, number }) => (id === null ? [] : [id, `person-${number}-`]));
  const [row] = names.length > 0 ? await world.rowsWith(names) : [];
  if (row) throw new Violation("deleted account leaves data", row);
}

/**
 * Right after so many days, of which so many were without a request, and before anything is removed: what has expired does
 * not work, and a session that has not does.
 */
export async function checkExpired(step: Step, { days, idleDays }: { days: number; idleDays: number }): Promise<void> {
  for (const account of step.model.accounts.filter(({ isUnclear }) => !isUnclear)) {
    for (const session of account.sessions) {
      const { idle, total } = session.cookie ? BROWSER_DAYS : APP_DAYS;
      if (days <= total && idleDays <= idle) continue;
      session.end();
      session.mayHaveSuccessor = true; // its devices may stay
    }
    for (const code of account.codes) {
      const isOver = step.nowMs > code.arrivedAtMs + (LINK_DAYS[code.kind] ?? 1) * DAY_MS;
      isOver ? code.end() : code.mayEnd();
    }
    const links = LINKS.flatMap(([kind]) => lastEnded(account.codesOf(kind), 1));
    for (const code of new Set([...links, ...lastEnded(account.codes, 4)])) await seeEndedCode(step, code);
    for (const session of account.sessions) await seeSession(step, session);
  }
}

/** Some hours after `checkExpired`: what has expired is removed, and what is kept is there. */
export async function checkLater(step: Step, days: number): Promise<void> {
  if (days > APP_DAYS.total) for (const { devices } of step.model.accounts) for (const one of devices) one.end();
  await checkAll(step);
  const [table] = await step.world.expiredTables();
  if (table) throw new Violation("expired data is kept", table);
}

/** Looks at something of an account after something has happened to it: most often at what may have ended. */
export async function look(step: Step, account: Account): Promise<void> {
  const { random } = step;
  const ended = lastEnded(account.codes, 4);
  const session = random.pick([...account.sessions.slice(-3), ...lastEnded(account.sessions, 2)]);
  const looks = [
    ...(session ? [() => seeSession(step, session), () => seeStatus(step, account)] : []),
    ...(ended.length > 0 ? [() => seeEndedCode(step, random.pick(ended))] : []),
    ...(account.devices.length > 0 ? [() => seeDevices(step, account)] : []),
  ];
  if (looks.length > 0) await random.pick(looks)();
}

/** A code or link that was used or ended does not work. */
async function seeEndedCode(step: Step, code: Code): Promise<void> {
  const { kind, text, account } = code;
  if (kind === "sign-in challenge") return completeSignIn(step, code);
  if (LINKS.some(([one]) => one === kind)) return followLink(step, code);
  const label = `use an ended ${kind} of ${account.name}`;
  const json = { token: text, password: newPassword(step.random) };
  const token = account.liveSessions.find(({ cookie }) => cookie === null)?.token;
  if (kind === "email link" && token === undefined) return;
  const answer =
    kind === "reset link"
      ? await step.send(label, "POST", "/api/auth/reset/confirm", { json })
      : kind === "email link"
        ? await step.send(label, "POST", "/api/auth/email/change/confirm", { json: { token: text }, token })
        : await step.send(label, "POST", "/api/auth/oauth/token", { form: exchangeForm(kind, text) });
  if (answer.outcome === "done") code.saw(true);
  if (kind === "authorization code") sawReplay(step, code, [answer], { couldWork: false, sessions: account.sessions });
}

const hasReplays = ({ audited }: Model) => [...audited.keys()].some((key) => key.startsWith("billing_event_replayed"));

/** Each event was recorded once, and delivered. */
function checkDeliveries({ model, nowMs }: Step): void {
  const received = [...model.received.values()];
  for (const { id, number, exists, isAdmitted } of model.catalog.products.flatMap(({ releases }) => releases)) {
    const published = received.filter(({ type, data }) => type === "release.published" && data.releaseId === id);
    if (published.length > 1) throw new Violation("webhook event is recorded twice", `release.published of ${id}`);
    if (published.length > 0 && isAdmitted.is(false)) throw new Violation("unapproved release is announced", id);
    // The first ones are published before all processes know the endpoint.
    if (published.length === 0 && number > 0 && exists.is(true) && isAdmitted.is(true))
      throw new Violation("webhook is not delivered", `release.published of ${id}`);
  }
  for (const account of model.accounts) {
    if (account.id === null || account.isUnclear) continue;
    const created = received.filter(({ type, data }) => type === "account.created" && data.accountId === account.id);
    // The deletion of an account deletes its events that wait.
    if (created.length === 0 && account.exists.is(true))
      throw new Violation("webhook is not delivered", `account.created of ${account.name}`);
    if (created.length > 1) throw new Violation("webhook event is recorded twice", account.name);
    const deleted = received.filter(({ type, data }) => type === "account.deleted" && data.accountId === account.id);
    if (deleted.length !== (account.exists.is(false) ? 1 : 0) && account.exists.possible.length === 1)
      throw new Violation("webhook is not delivered", `account.deleted of ${account.name}: ${deleted.length}`);
    const verified = received.filter(
      ({ type, data }) => type === "push.device_verified" && data.accountId === account.id,
    );
    if (account.exists.is(true) && verified.length < account.devices.filter(({ isVerified }) => isVerified).length)
      throw new Violation("webhook is not delivered", `push.device_verified of ${account.name}`);
    if (verified.length > account.devices.length) throw new Violation("webhook event is recorded twice", account.name);
    const told = received.filter(({ type, data }) => type === "subscription.changed" && data.accountId === account.id);
    // A replay announces nothing, also if the account was imported since.
    const purchases = account.purchases.filter(({ customer }) => customer === null || !hasReplays(model));
    const active = [...purchases, ...account.grants].filter((one) => one.givesAccess(account, nowMs, nowMs));
    for (const id of account.exists.is(true) ? active.flatMap(({ entitlements }) => entitlements) : [])
      if (!told.some(({ data }) => (data.entitlements as string[]).includes(id)))
        throw new Violation("webhook is not delivered", `subscription.changed of ${account.name}: ${id}`);
    if (model.followMs === 0 && account.exists.is(true)) checkStatusEvents(model, account);
  }
}

/** Each event of an account says something else than the one before, and the last one gives nothing that has ended. */
function checkStatusEvents(model: Model, account: Account): void {
  const { purchases, grants, unansweredGrants, name } = account;
  // What an account had before a transfer counts for what it is compared with.
  if (purchases.some(({ isMoved }) => isMoved)) return;
  const told = [...model.received.entries()]
    .filter(([, { type, data }]) => type === "subscription.changed" && data.accountId === account.id)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { data }]) => data);
  const states = told.map(({ status, isActive, productId, entitlements }) =>
    JSON.stringify([status, isActive, productId, entitlements]),
  );
  if (states.some((state, i) => state === states[i - 1])) throw new Violation("webhook event without a change", name);
  // A replay announces nothing, nor what has ended until then.
  if (hasReplays(model) || unansweredGrants.length > 0) return;
  const last = (told.at(-1)?.entitlements ?? []) as string[];
  const hasEnded = (id: string) =>
    grants.every(({ works, entitlements }) => works.is(false) || !entitlements.includes(id)) &&
    purchases.every((one) => one.isComplete() && (one.isEnded || one.isSandbox || !one.entitlements.includes(id)));
  const ended = last.find(hasEnded);
  if (ended !== undefined) throw new Violation("webhook is not delivered", `the end of ${ended} of ${name}`);
}

/** After all faults have ceased, what is still under way arrives. */
export async function finishAll(step: Step): Promise<void> {
  await deliverAll(step);
  await deliverRest(step);
  await notifyAll(step);
}
