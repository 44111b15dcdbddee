import type { Account, Session } from "../model/accounts";
import { Violation } from "../model/fact";
import { Device, Message } from "../model/push";
import { isPhone } from "./app-attest";
import { hasSession, type Operation, onAccount, type Step, sawSession } from "./operation";
import { appSession, findDevice, isBrowser, newToken, registerPhone } from "./push";

const MESSAGES = "/api/admin/push/messages";
/** A message that is sent at once has arrived, and how long it is worth sending. */
const [ARRIVAL_MS, LIFE_MS] = [4_000, 8 * 3_600_000];
const TYPE = "DeliveryAttributes";
const NAMES = ["order-1", "order-2"];

/** What an app registers a token for: a Live Activity that it shows, or those of a type, which it can start. */
class LiveActivity extends Device {
  /** The message that ends it. */
  over: Message | null = null;

  constructor(
    readonly phone: Device,
    readonly phoneId: string,
    readonly activityId: string | null,
    token: string,
  ) {
    // Whoever turns messages off still gets these.
    const { id, name } = phone.account;
    super({ id, name, mutedFromMs: Number.POSITIVE_INFINITY }, phone.session, token, token, phone.locale);
  }
  get path(): string {
    const name = this.activityId === null ? `live-activity-start-tokens/${TYPE}` : `live-activities/${this.activityId}`;
    return `/api/push/devices/${this.phoneId}/${name}`;
  }
}

/** With a device its tokens end, but not if APNs has reported it. */
export function activitiesOf({ activities }: Account): LiveActivity[] {
  const all = activities.filter((one): one is LiveActivity => one instanceof LiveActivity);
  for (const one of all) {
    const { works, isGone } = one.phone;
    one.isGone = isGone;
    if (works.is(false) && !isGone) one.end();
    else if (works.canBe(false)) one.mayEnd();
  }
  return all;
}

/** A token whose last characters, which are shown, no other one has. */
function newActivityToken(step: Step): string {
  const all = step.model.accounts.flatMap(({ activities }) => activities);
  let token = newToken(step);
  while (all.some(({ address }) => address.endsWith(token.slice(-4)))) token = newToken(step);
  return token;
}

/** A phone that proves its key goes on under another token, so these are those that do not. */
const simulators = ({ devices }: Account) =>
  devices.filter((one) => !isBrowser(one) && !isPhone(one) && one.works.canBe(true));

/** Nobody changes the tokens of another account's phone. */
async function tryAsAnother(step: Step, account: Account, method: string, path: string, json?: object): Promise<void> {
  const others = step.model.accounts.filter((one) => one !== account && hasSession(one));
  const stranger = step.random.chance(0.25) ? step.random.pick(others) : undefined;
  const session = stranger && appSession(step, stranger);
  if (!session) return;
  const label = `change a Live Activity of ${account.name} as ${stranger.name}`;
  const { outcome } = await step.send(label, method, path, { token: session.token, ...(json && { json }) });
  if (outcome === "done") throw new Violation("Live Activity of another account is changed", account.name);
}

async function register(step: Step, account: Account): Promise<void> {
  const { random } = step;
  if (simulators(account).length === 0) await registerPhone(step, account);
  const session = appSession(step, account);
  const phone = random.pick(simulators(account));
  const phoneId = session && phone ? await findDevice(step, session, phone) : undefined;
  if (!session || !phone || phoneId === undefined) return;
  const activity = new LiveActivity(phone, phoneId, random.pick([null, ...NAMES]), newActivityToken(step));
  const json = { token: activity.address, ...(activity.activityId !== null && { attributesType: TYPE }) };
  await tryAsAnother(step, account, "PUT", activity.path, json);
  const replaced = activitiesOf(account).filter(({ path }) => path === activity.path);
  const restore = step.remember(replaced);
  for (const one of replaced) one.mayEnd();
  activity.mayEnd();
  account.activities.push(activity);
  const label = `register a Live Activity of ${account.name}`;
  const answer = await step.send(label, "PUT", activity.path, { token: session.token, json });
  restore(answer);
  if (answer.outcome === "unknown") return;
  if (!sawSession(session, answer) || answer.outcome !== "done") {
    activity.end();
    if (/^device_not/.test(answer.body?.code) && phone.works.is(true) && !phone.isGone && !step.isDisturbed())
      throw new Violation("Live Activity is refused", account.name);
    return;
  }
  for (const one of replaced) one.end();
  activity.works.set(true);
  if (random.chance(0.6) && isReachable(account)) await send(step, account);
}

const isReachable = ({ exists, email }: Account) => exists.is(true) && email.possible.length === 1;

/** An operator starts, updates or ends Live Activities of an account. */
async function send(step: Step, account: Account): Promise<void> {
  const { model, random, nowMs } = step;
  const own = activitiesOf(account);
  const activityId = random.pick(own.slice(-4))?.activityId ?? null;
  const event = activityId === null ? "start" : random.pick(["update", "update", "end"]);
  const text = random.uuid();
  const content = { contentState: { text } };
  const started = { attributesType: TYPE, attributes: {}, alert: { title: "Order", body: "It is packed" }, ...content };
  const json = {
    kind: `live_activity.${event}`,
    to: { account: account.email.possible[0] },
    ...(activityId === null ? started : { activityId, ...content }),
  };
  const isFor = (device: Device) =>
    device instanceof LiveActivity && device.phone.account === account && device.activityId === activityId;
  const message = new Message(text, nowMs, LIFE_MS, own, isFor);
  message.exists = account.exists;
  const targets = own.filter(isFor);
  // A newer one shows the newer state.
  if (activityId !== null) for (const one of model.messages) one.due = one.due.filter((device) => !isFor(device));
  model.messages.push(message);
  const sent = { operator: "sim", json, headers: { "idempotency-key": text } };
  const audit = model.willAudit("push_sent");
  const due = targets.filter(({ works, isGone, phone }) => works.is(true) && !isGone && phone.works.is(true));
  if (event === "end")
    for (const one of targets) {
      one.mayEnd();
      one.over = message;
    }
  const answer = await step.send(`${event} Live Activities of ${account.name}`, "POST", MESSAGES, sent);
  message.storedByMs = step.nowMs;
  if (answer.outcome === "unknown") return;
  if (answer.outcome === "done") {
    audit.done();
    Object.assign(message, { id: answer.body.id, due });
  } else {
    audit.refused();
    message.end();
    if (due.length > 0 && !step.isDisturbed())
      throw new Violation("Live Activity is lost", `${activityId ?? TYPE} of ${account.name}: ${answer.body?.code}`);
  }
  if (random.chance(0.5)) await new Promise((resolve) => setTimeout(resolve, ARRIVAL_MS));
}

async function remove(step: Step, account: Account): Promise<void> {
  const session = appSession(step, account);
  const activity = step.random.pick(activitiesOf(account).slice(-4));
  if (!session || !activity) return;
  const { path } = activity;
  await tryAsAnother(step, account, "DELETE", path);
  const removed = activitiesOf(account).filter((one) => one.path === path);
  const restore = step.remember(removed);
  for (const one of removed) one.mayEnd();
  const label = `remove a Live Activity of ${account.name}`;
  const answer = await step.send(label, "DELETE", path, { token: session.token });
  restore(answer);
  if (answer.outcome === "unknown" || !sawSession(session, answer) || answer.outcome !== "done") return;
  for (const one of removed) one.end();
}

type Listed = { activityId?: string; tokenSuffix: string };

/** The tokens that were registered last are there, and no others. `isQuiet`: nothing is under way. */
export async function seeActivities(step: Step, account: Account, isQuiet = false): Promise<void> {
  const session: Session | null = appSession(step, account);
  if (!session) return;
  for (const phoneId of new Set(activitiesOf(account).map((one) => one.phoneId))) {
    const label = `list the Live Activities of ${account.name}`;
    const path = `/api/push/devices/${phoneId}/live-activities`;
    const answer = await step.send(label, "GET", path, { token: session.token });
    if (answer.outcome === "unknown" || !sawSession(session, answer)) return;
    const { liveActivities = [], startTokens = [] } = answer.outcome === "done" ? answer.body : {};
    const listed: Listed[] = [...liveActivities, ...startTokens];
    for (const activity of activitiesOf(account).filter((one) => one.phoneId === phoneId)) {
      const { activityId, address, over, works } = activity;
      const isListed = listed.some(
        (one) => (one.activityId ?? null) === activityId && address.endsWith(one.tokenSuffix),
      );
      if (!isListed && works.is(true) && !activity.isGone) throw new Violation("Live Activity is lost", account.name);
      if (isListed && works.is(false)) throw new Violation("ended Live Activity is there", account.name);
      const isOver = over?.works.is(true) && over.hasReached(activity) && step.nowMs < over.sendAtMs + LIFE_MS;
      if (isListed && isOver && isQuiet) throw new Violation("Live Activity is there after its end", account.name);
      if (!isListed) activity.end();
      else if (over === null) works.set(true); // else its end may be on its way
    }
  }
}

const areLive = ({ activities }: Account) => activities.some(({ works }) => works.canBe(true));

export const liveActivityOperations: Operation[] = [
  onAccount("register a Live Activity", 0.8, (one) => hasSession(one) && one.id !== null, register),
  onAccount("send to Live Activities", 2, (one) => areLive(one) && isReachable(one), send),
  onAccount("send to ended ones", 0.3, (one) => one.activities.length > 0 && !areLive(one) && isReachable(one), send),
  onAccount("remove a Live Activity", 0.4, (one) => areLive(one) && hasSession(one), remove),
  onAccount(
    "see Live Activities",
    0.4,
    (one) => areLive(one) && hasSession(one),
    (step, account) => seeActivities(step, account),
  ),
];
