import { createECDH, createPrivateKey, sign } from "node:crypto";
import { buildClientData } from "@/lib/push/evidence/verify";
import type { Account, Session } from "../model/accounts";
import { Violation } from "../model/fact";
import { Device, Message } from "../model/push";
import { BROWSER_KEYS, type Sent as Request } from "../world";
import { hasSession, type Operation, onAccount, type Step, sawSession } from "./operation";

const MINUTE_MS = 60_000;
const ANNOUNCED_MS = 7 * 24 * 60 * MINUTE_MS;
/** Deliveries of later messages are queued a minute before they are due. */
const QUEUED_AHEAD_MS = 1.5 * MINUTE_MS;
export const BUNDLE_ID = "com.example.homeport";
/** A token of APNs. */
export const newToken = ({ random }: Step) => random.uuid().replaceAll("-", "").repeat(2);

/** A session of an app, which may be live. */
export const appSession = (step: Step, { liveSessions }: Account) =>
  step.random.pick(liveSessions.filter(({ cookie }) => cookie === null)) ?? null;
const activeDevices = (account: { devices: Device[] }) => account.devices.filter(({ works }) => works.canBe(true));
const allDevices = ({ model }: Step) => model.accounts.flatMap(({ devices }) => devices);

export async function seeDevices(step: Step, account: Account): Promise<void> {
  const session = appSession(step, account);
  if (!session) return;
  const label = `list the devices of ${account.name}`;
  const answer = await step.send(label, "GET", "/api/push/devices", { token: session.token });
  if (answer.outcome === "unknown" || !sawSession(session, answer) || answer.outcome !== "done") return;
  const listed = answer.body.devices as { name: string; status: string }[];
  for (const device of account.devices)
    device.listed(listed.find(({ name }) => name === device.id)?.status === "active");
}

function newDevice(step: Step, account: Account, session: Session, address: string): Device {
  const device = new Device(account, session, address, step.random.uuid(), step.random.pick(["de", "en"]));
  device.mayEnd();
  account.devices.push(device);
  return device;
}

/** The key of a new phone: with another one's key, it would be the same phone. */
function newKey({ random }: Step) {
  const curve = createECDH("prime256v1");
  const secret = Buffer.alloc(32);
  random.bytes(secret);
  curve.setPrivateKey(secret);
  const point = curve.getPublicKey();
  const [x, y, d] = [point.subarray(1, 33), point.subarray(33), secret].map((part) => part.toString("base64url"));
  const key = { kty: "EC", crv: "P-256", x: x ?? "", y: y ?? "", d: d ?? "" };
  return { point, privateKey: createPrivateKey({ key, format: "jwk" }) };
}

/** A browser, and what it registers with. */
export function newBrowser(step: Step, account: Account, session: Session) {
  const endpoint = `https://updates.push.services.mozilla.com/wpush/v2/${step.random.uuid()}`;
  const device = newDevice(step, account, session, endpoint);
  const { id: name, locale } = device;
  const subscription = { endpoint, keys: BROWSER_KEYS };
  return { device, json: { platform: "web", subscription, device: { name, locale } } };
}

export type Registration = { token: string; environment: string; device: { name: string; locale: string } };
/** A challenge as it has arrived on a phone, by both its ways. */
type Challenged = { challengeId: string; challengeValue: string; pushNonce: string };

export const registerAs = (step: Step, label: string, { account, token }: Session, json: object) =>
  step.send(`${label} of ${account.name}`, "POST", "/api/push/register", { token, json });

/** Registers a phone, and waits for the nonce. null: it does not arrive. */
export async function challengePhone(
  step: Step,
  session: Session,
  device: Device,
  registration: Registration,
): Promise<Challenged | null> {
  const asked = await registerAs(step, "register a phone", session, registration);
  if (asked.outcome === "unknown") return null;
  const challengeId = sawSession(session, asked) && asked.outcome === "done" ? asked.body.challenge.id : null;
  for (let waits = 0; challengeId !== null && waits < 20 && !step.world.nonces.has(challengeId); waits++)
    await new Promise((resolve) => setTimeout(resolve, 2_000));
  const pushNonce = step.world.nonces.get(challengeId);
  if (pushNonce !== undefined) return { challengeId, challengeValue: asked.body.challenge.value, pushNonce };
  device.end();
  return null;
}

/** What a phone signs. */
export const signedBy = ({ id }: Account, registration: Registration, challenged: Challenged) =>
  buildClientData({ ...registration, ...challenged, bundleId: BUNDLE_ID, accountId: id ?? "" });

/** Registers a phone: with evidence, once the nonce has arrived on it. */
export async function registerPhone(step: Step, account: Account): Promise<void> {
  const token = newToken(step);
  const session = appSession(step, account);
  if (!session) return;
  const device = newDevice(step, account, session, token);
  const forged = step.random.pick([...Array(7).fill(null), "nonce", "signature", "time", "attestation"] as const);
  // A key that nothing attests is for simulators.
  const environment = forged === "attestation" ? "production" : "sandbox";
  const registration = { token, environment, device: { name: device.id, locale: device.locale } };
  const challenged = await challengePhone(step, session, device, registration);
  if (!challenged) return;
  const { challengeId, pushNonce: arrived } = challenged;
  if (forged === "time") await new Promise((resolve) => setTimeout(resolve, 16 * MINUTE_MS));
  const pushNonce = forged === "nonce" ? `${arrived.slice(1)}A` : arrived;
  const clientData = signedBy(account, registration, { ...challenged, pushNonce });
  const { point, privateKey } = newKey(step);
  const evidence = {
    type: "device_key",
    challengeId,
    pushNonce,
    publicKey: point.toString("base64"),
    signature: sign("sha256", clientData, forged === "signature" ? newKey(step).privateKey : privateKey).toString(
      "base64",
    ),
  };
  const answer = await registerAs(step, "verify a phone", session, { ...registration, evidence });
  if (answer.outcome === "unknown") return;
  if (!sawSession(session, answer) || answer.outcome !== "done") return device.end();
  if (forged) throw new Violation(`evidence without its ${forged} works`, account.name);
  device.verified();
}

export const isBrowser = ({ address }: Device) => address.startsWith("https:");
const OTHER_KEYS = { ...BROWSER_KEYS, auth: Buffer.alloc(16, 8).toString("base64url") };

/** A browser registers once more. It moves to an account that knows its keys. */
async function registerAgain(step: Step, account: Account): Promise<void> {
  const { model, random } = step;
  const device = random.pick(account.devices.filter((one) => isBrowser(one) && one.works.is(true)));
  const others = model.accounts.filter((one) => one !== account && !one.isBusy && !one.isUnclear && hasSession(one));
  const receiver = random.chance(0.6) ? (random.pick(others) ?? account) : account;
  const session = appSession(step, receiver);
  // In another session of its account, an unanswered request would leave unknown with which one it ends.
  if (!device || !session || (receiver === account && session !== device.session)) return;
  const isStolen = receiver !== account && random.chance(0.4);
  const restore = step.remember([device]);
  const moved = receiver === account || isStolen ? null : newDevice(step, receiver, session, device.address);
  if (moved) device.mayEnd();
  const { id: name, locale } = moved ?? device;
  const subscription = { endpoint: device.address, keys: isStolen ? OTHER_KEYS : BROWSER_KEYS };
  const json = { platform: "web", subscription, device: { name, locale } };
  receiver.isBusy = true;
  const label = `register a browser again, by ${receiver.name}`;
  const answer = await step.send(label, "POST", "/api/push/register", { token: session.token, json });
  receiver.isBusy = receiver === account;
  if (answer.outcome === "unknown") return;
  const isDone = sawSession(session, answer) && answer.outcome === "done";
  if (isDone && isStolen) throw new Violation("browser is taken without its keys", account.name);
  if (!isDone) moved?.end();
  restore(answer);
  if (isDone && moved) {
    device.end();
    moved.verified();
  }
}

async function mute(step: Step, account: Account): Promise<void> {
  const session = appSession(step, account);
  if (!session) return;
  const isOff = !account.isMuted.canBe(true);
  account.isMuted.maySet(isOff);
  account.mutedFromMs = Number.POSITIVE_INFINITY;
  for (const { mutedBy } of step.model.messages) mutedBy.add(account);
  const kinds = { custom: !isOff, "app.new_version": !isOff };
  const sent = { token: session.token, json: { kinds } };
  const answer = await step.send(
    `turn messages of ${account.name} ${isOff ? "off" : "on"}`,
    "PUT",
    "/api/push/preferences",
    sent,
  );
  if (answer.outcome === "unknown" || !sawSession(session, answer) || answer.outcome !== "done") return;
  account.isMuted.set(isOff);
  if (isOff) account.mutedFromMs = step.nowMs;
}

/** The id that the service knows a device by. */
export async function findDevice(step: Step, { account, token }: Session, device: Device): Promise<string | undefined> {
  const listed = await step.send(`list the devices of ${account.name}`, "GET", "/api/push/devices", { token });
  if (listed.outcome !== "done") return undefined;
  return listed.body.devices.find(({ name }: { name: string }) => name === device.id)?.id;
}

async function removeDevice(step: Step, account: Account): Promise<void> {
  const { model, random } = step;
  const session = appSession(step, account);
  const device = random.pick(activeDevices(account));
  if (!session || !device) return;
  const id = await findDevice(step, session, device);
  if (id === undefined) return;
  const remove = ({ token }: Session) =>
    step.send(`remove a device of ${account.name}`, "DELETE", `/api/push/devices/${id}`, { token });
  const stranger = random.pick(model.accounts.filter((one) => one !== account && hasSession(one)));
  const theirs = stranger && random.chance(0.3) ? appSession(step, stranger) : null;
  if (theirs && (await remove(theirs)).outcome === "done")
    throw new Violation("device of another account is removed", account.name);
  device.mayEnd();
  const answer = await remove(session);
  if (answer.outcome === "unknown") return;
  if (sawSession(session, answer)) device.end();
}

/** Those of some devices that have to get a message. */
const dueDevices = ({ model }: Step, devices: readonly Device[]) =>
  devices.filter(
    ({ works, account }) => works.is(true) && model.accounts.some((one) => one === account && one.isMuted.is(false)),
  );

/** Each device gets a version once. */
async function announce(step: Step): Promise<void> {
  const { model, nowMs } = step;
  const devices = allDevices(step);
  const version = `9.${model.messages.length}.${step.random.below(1_000)}`;
  const message = new Message(version, nowMs, ANNOUNCED_MS, devices, () => true);
  model.messages.push(message);
  const audit = model.willAudit("push_announced");
  const due = dueDevices(step, devices);
  const sent = { operator: "sim", json: { kind: "app.new_version", version } };
  const answer = await step.send("announce a version", "POST", "/api/admin/push/messages", sent);
  message.storedByMs = step.nowMs;
  if (answer.outcome !== "done") return;
  audit.done();
  message.id = answer.body.id;
  message.due = due;
}

type To = { to: object; label: string; isFor: (device: Device) => boolean; account?: Account };

/** Sends a message, now or later. */
async function notify(
  step: Step,
  { to, label, isFor, account }: To,
  options: { sendAt?: Date; ttlSeconds?: number } = {},
): Promise<Message> {
  const { model, random } = step;
  const { sendAt, ttlSeconds } = options;
  const atMs = Math.max(sendAt?.getTime() ?? 0, step.nowMs);
  const devices = allDevices(step);
  const text = random.uuid();
  const message = new Message(text, atMs, (ttlSeconds ?? 86_400) * 1_000, devices, isFor);
  if (account) message.exists = account.exists;
  model.messages.push(message);
  const json = { kind: "custom", to, title: "Hello", body: text, ...options };
  const sent = { operator: "sim", json, headers: { "idempotency-key": text } };
  message.unanswered = { label, sent, audit: model.willAudit("push_sent") };
  // One that expires soon may do so while nothing can be sent.
  const due = ttlSeconds === undefined ? dueDevices(step, devices.filter(isFor)) : [];
  await send(step, message, due);
  return message;
}

/** Sends the request of a message. `due`: those that have to get it; null: it is sent again. */
async function send(step: Step, message: Message, due: Device[] | null = null): Promise<void> {
  if (!message.unanswered) return;
  const { label, sent, audit } = message.unanswered;
  message.storedByMs = Number.POSITIVE_INFINITY;
  const answer = await step.send(`notify ${label}`, "POST", "/api/admin/push/messages", sent);
  message.storedByMs = step.nowMs;
  const isOpen = answer.outcome === "unknown" || answer.body?.code === "request_in_progress";
  if (isOpen || !message.unanswered) return;
  message.unanswered = null;
  if (answer.outcome === "done") {
    audit.done();
    message.id = answer.body.id;
    message.due = due ?? [];
    if (step.random.chance(0.1)) await repeat(step, message, sent);
  } else if (due) {
    audit.refused();
    message.end();
  }
}

/** The same request again gets the same answer, and its key belongs to no other request. */
async function repeat(step: Step, { id, text }: Message, sent: object): Promise<void> {
  const again = await step.send("repeat a message", "POST", "/api/admin/push/messages", sent);
  const isReplayed = again.headers.get("idempotency-replayed") === "true" || step.isDisturbed();
  if (again.outcome === "done" && (again.body.id !== id || !isReplayed))
    throw new Violation("message is sent again", text);
  const other = { ...sent, json: { ...((sent as Request).json as object), title: "Another" } };
  const { outcome } = await step.send("another message with its key", "POST", "/api/admin/push/messages", other);
  if (outcome === "done" && !step.isDisturbed()) throw new Violation("key is taken for another request", text);
}

/** Once faults have ceased, everybody gets one more message: a removed app is noticed then. */
export async function notifyAll(step: Step): Promise<void> {
  for (const message of step.model.messages) await send(step, message);
  for (const device of allDevices(step)) device.isListed = false;
  await notify(step, { to: { audience: {} }, label: "all", isFor: () => true });
}

async function cancel(step: Step, message: Message): Promise<void> {
  const { works } = message;
  const isSure = works.possible.length === 1;
  const wasCanceled = works.is(false);
  message.mayEnd();
  const audit = step.model.willAudit("push_canceled");
  const path = `/api/admin/push/messages/${message.id}`;
  const answer = await step.send("cancel a message", "DELETE", path, { operator: "sim" });
  if (answer.outcome === "refused") {
    if (message.exists.is(true)) throw new Violation("message is lost", message.text);
    audit.refused();
    return message.end();
  }
  if (answer.outcome === "unknown") return;
  const isCanceled = answer.body.canceledAt !== null;
  if (!isCanceled && isSure && step.nowMs < message.sendAtMs - QUEUED_AHEAD_MS)
    throw new Violation("message is not canceled", message.text);
  if (isSure) isCanceled && !wasCanceled ? audit.done() : audit.refused();
  works.set(!isCanceled);
  if (isCanceled) message.canceledAtMs = Math.min(message.canceledAtMs, step.nowMs);
}

export async function checkMessages({ model, world, faultCount }: Step): Promise<void> {
  const [repeated] = await world.repeatedMessages();
  if (repeated) throw new Violation("message is stored twice", repeated);
  // A removed app is noticed at the next message.
  for (const { devices, isMuted, name } of model.accounts)
    if (isMuted.is(false) && devices.some(({ isListed, isGone }) => isGone && isListed))
      throw new Violation("removed app is active", name);
  for (const message of model.messages) message.check(faultCount() === 0);
}

export const pushOperations: Operation[] = [
  onAccount("register a browser", 1.5, hasSession, async (step, account) => {
    const session = appSession(step, account);
    if (!session) return;
    const { device, json } = newBrowser(step, account, session);
    const label = `register a browser of ${account.name}`;
    const answer = await step.send(label, "POST", "/api/push/register", { token: session.token, json });
    if (answer.outcome === "unknown") return;
    if (sawSession(session, answer) && answer.outcome === "done") device.verified();
    else device.end();
  }),
  onAccount("register a phone", 1.5, (account) => hasSession(account) && account.id !== null, registerPhone),
  onAccount(
    "notify",
    1.5,
    (account) => account.exists.is(true) && account.email.possible.length === 1 && activeDevices(account).length > 0,
    async (step, account) => {
      const { random, nowMs } = step;
      const to = { account: account.email.possible[0] };
      const isLater = random.chance(0.3);
      const sendAt = new Date(nowMs + random.below(30 * MINUTE_MS));
      const options = { ...(isLater && { sendAt }), ...(random.chance(0.2) && { ttlSeconds: 60 + random.below(600) }) };
      const isFor = (device: Device) => device.account === account;
      const message = await notify(step, { to, label: account.name, isFor, account }, options);
      // While it is being sent: if that fails, it is not sent again.
      if (message.id !== null && random.chance(0.2)) await cancel(step, message);
    },
  ),
  {
    name: "notify an audience",
    weight: 0.4,
    start: async (step) => {
      const locale = step.random.pick(["de", "en"]);
      const to = { audience: { locale } };
      await notify(step, { to, label: "an audience", isFor: (device) => device.locale === locale });
    },
  },
  { name: "announce a version", weight: 0.3, start: announce },
  {
    name: "notify again",
    weight: 0.7,
    start: (step) => {
      const message = step.random.pick(step.model.messages.filter(({ unanswered }) => unanswered !== null));
      return message ? send(step, message) : null;
    },
  },
  {
    name: "cancel a message",
    weight: 0.8,
    start: (step) => {
      const messages = step.model.messages.filter(({ id }) => id !== null);
      const waiting = messages.filter(({ sendAtMs, works }) => sendAtMs > step.nowMs && works.canBe(true));
      const message = step.random.pick(waiting.length > 0 ? waiting : messages.slice(-4));
      return message ? cancel(step, message) : null;
    },
  },
  onAccount(
    "remove the app",
    0.4,
    (account) => activeDevices(account).length > 0,
    async (step, account) => {
      const device = step.random.pick(activeDevices(account));
      step.world.gone.set(device.address, step.nowMs);
      for (const one of allDevices(step).filter(({ address }) => address === device.address)) {
        one.isGone = true;
        one.mayEnd();
      }
      step.note(`an app of ${account.name} is removed`);
    },
  ),
  onAccount("register a browser again", 1, (account) => activeDevices(account).some(isBrowser), registerAgain),
  onAccount("turn messages off or on", 0.4, (account) => hasSession(account) && account.devices.length > 0, mute),
  onAccount(
    "remove a device",
    0.5,
    (account) => hasSession(account) && activeDevices(account).length > 0,
    removeDevice,
  ),
  onAccount("list devices", 1, (account) => hasSession(account) && account.devices.length > 0, seeDevices),
];
