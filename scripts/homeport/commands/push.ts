import { CommandError } from "../../../lib/errors";
import { isUuid } from "../../../lib/platform/db/ids";
import { Announcement, CustomMessage } from "../../../lib/push/admin/new-message";
import { DeliveriesQuery, PauseParams, Retry } from "../../../lib/push/admin/schema";
import { Audience } from "../../../lib/push/audience";
import { UsageError } from "../../command-line";
import type { CommandContext, DefineCommandGroup, HomeportCommand } from "../command";
import { checked, oneOf, parsePositiveInteger, parseTime, repeatable } from "../options";
import { confirm, isInteractive } from "../terminal";
import type { InputOf, ResultOf } from "../transport/operations";

const DEFAULT_LIMIT = "20";
const MAX_LIMIT = 10_000;
const MAX_TITLE = 40;
const PLATFORMS = Audience.shape.platform.unwrap().options;

type When = { sendAt?: string; perSecond?: string; dryRun?: boolean; yes?: boolean };
type SendOptions = { account?: string; device?: string; title?: string; body?: string; link?: string } & When &
  AudienceOptions;
type AnnounceOptions = { version?: string } & When & Omit<AudienceOptions, "all">;
type ListOptions = { account?: string; state?: string; reason?: string; message?: string; limit: string };

export const definePush: DefineCommandGroup = (push) => {
  const sending = push
    .command("send")
    .description("notify the devices of an account, one device, or an audience")
    .option("--account <id|email>", "the account")
    .option("--device <id>", "one device, such as a test device")
    .option("--title <text>", "the title")
    .option("--body <text>", "the text")
    .option("--link <url>", "what the app opens")
    .option("--all", "every device");
  withSchedule(withAudience(sending)).run(send);
  const announcing = push
    .command("announce")
    .description("announce a version to every device, or to an audience")
    .option("--version <version>", "the version, such as 2.1.0");
  withSchedule(withAudience(announcing)).run(announce);
  push
    .command("list")
    .description("list deliveries and current pauses: waiting deliveries first, then the newest finished ones")
    .option("--account <id|email>", "only deliveries to this account")
    .option("--message <id>", "only deliveries of this message")
    .option("--state <state>", "queued, sending, sent, failed or cancelled")
    .option("--reason <reason>", "only deliveries that failed or were canceled for this reason")
    .option("--limit <count>", "maximum number", DEFAULT_LIMIT)
    .run(list);
  push
    .command("messages")
    .description("list the newest messages that operators sent, with their progress")
    .option("--limit <count>", "maximum number", DEFAULT_LIMIT)
    .run(listMessages);
  push
    .command("cancel <id>")
    .description("cancel the deliveries of a message that have not been sent")
    .calls("cancelPushMessage", { input: canceled, prints: cancellation });
  push
    .command("retry")
    .description("end pauses and send failed notifications again")
    .addOption(repeatable("--id <id>", "only this delivery; may be repeated"))
    .run(retry);
  push
    .command("pauses")
    .description("list the APNs environments that are paused")
    .option("--end <environment>", "end the pause of production or sandbox")
    .run(pauses);
};

/** Adds the options that say when a message is sent, and the question before it. */
function withSchedule(command: HomeportCommand): HomeportCommand {
  return command
    .option("--send-at <time>", "send at this time, such as 2026-12-01T09:00:00Z, within 90 days")
    .option("--per-second <count>", "number of devices of an audience to notify per second", "1000")
    .option("--dry-run", "only print the number of devices")
    .option("--yes", "do not ask");
}

async function send(context: CommandContext, options: SendOptions): Promise<void> {
  const { account, device, title, body, link, sendAt } = options;
  const audience = audienceOf(options);
  const targets = [account, device, audience ?? undefined].filter((one) => one !== undefined);
  if (targets.length !== 1 || !title || !body) {
    const needed = "--title and --body, and --account, --device or an audience, such as --platform ios";
    throw new UsageError(`send needs ${needed}`);
  }
  const perSecond = parsePositiveInteger(options.perSecond ?? "", "--per-second", MAX_LIMIT);
  const to = audience ? { audience } : account === undefined ? { deviceId: device } : { account };
  const given = { kind: "custom", to, title, body, link, sendAt, ...(audience ? { perSecond } : {}) };
  const optionOf = { to: "--account, --device", title: "--title", body: "--body", link: "--link", sendAt: "--send-at" };
  const message = checked(CustomMessage, given, optionOf);
  if (audience) return sendToMany(context, options, { audience, perSecond }, message);
  if (options.dryRun) throw new UsageError("--dry-run requires an audience");
  try {
    const sent = await context.api.call("sendPushMessage", { body: message });
    context.output.result(sent, [`Queued for ${count(sent.devices, "device")}.`]);
  } catch (error) {
    if (!(error instanceof CommandError && error.code === "no_active_device")) throw error;
    const text = account === undefined ? "The device is not active." : "The account has no active device.";
    context.output.result({ devices: 0 }, [text]);
  }
}

async function announce(context: CommandContext, options: AnnounceOptions): Promise<void> {
  const { version, sendAt } = options;
  if (!version) throw new UsageError("announce needs --version");
  const audience = audienceOf({ ...options, all: false }) ?? {};
  const perSecond = parsePositiveInteger(options.perSecond ?? "", "--per-second", MAX_LIMIT);
  const { bundleId, ...others } = audience;
  const to = Object.keys(others).length > 0 ? { audience } : { bundleId };
  const given = { kind: "app.new_version", version, to, perSecond, sendAt };
  const message = checked(Announcement, given, { version: "--version", to: "--bundle", sendAt: "--send-at" });
  await sendToMany(context, options, { audience, perSecond, version }, message);
}

/** Says how many devices a message is for, asks at a terminal, and sends it. */
async function sendToMany(
  { api, output }: CommandContext,
  { sendAt, dryRun, yes }: When,
  to: InputOf<"estimateAudience">["body"],
  body: InputOf<"sendPushMessage">["body"],
) {
  const estimate = await api.call("estimateAudience", { body: to });
  for (const { detail } of estimate.warnings) output.note(detail);
  const about = `${estimate.isExact ? "" : "about "}${count(estimate.devices, "device")}`;
  if (dryRun) return output.result(estimate, [`For ${about}, within ${estimate.seconds} s. Nothing was sent.`]);
  if (!yes && isInteractive() && !(await confirm(`Notify ${about}?`))) {
    throw new CommandError("confirmation_required", "Nothing was sent.");
  }
  const message = await api.call("sendPushMessage", { body });
  const seconds = Math.ceil(message.devices / (message.perSecond ?? 1));
  const due =
    sendAt === undefined ? `The last one is due in ${seconds} s.` : `The first one is due at ${message.sendAt}.`;
  output.result(message, [`Queued for ${count(message.devices, "device")}. ${due}`]);
  if (message.devices > 0) output.note(`Cancel it with \`homeport push cancel ${message.id}\`.`);
}

/** The start of a title or the whole version: what follows it in the table has to fit a terminal, too. */
const titleOf = ({ title }: { title: string | null }) => title && [...title].slice(0, MAX_TITLE).join("");

async function list({ api, output }: CommandContext, { limit, message, ...filter }: ListOptions): Promise<void> {
  const given = { ...filter, messageId: message };
  const optionOf = { account: "--account", messageId: "--message", state: "--state", reason: "--reason" };
  const query = checked(DeliveriesQuery, given, optionOf);
  const maxEntries = parsePositiveInteger(limit, "--limit", MAX_LIMIT);
  const found = await api.list("listPushDeliveries", "deliveries", { query }, maxEntries);
  output.table(found, "No notifications found.", {
    id: "id",
    created: "createdAt",
    state: "state",
    title: titleOf,
    kind: "kind",
    attempts: "attempts",
    status: "apnsStatus",
    reason: "reason",
    device: "deviceId",
    message: "messageId",
  });
  const { pauses: paused } = await api.call("listPushPauses");
  for (const { environment, until, reason } of paused) {
    output.note(`Deliveries to ${environment} are paused until ${until}: ${reason}. "retry" ends the pause.`);
  }
}

async function listMessages({ api, output }: CommandContext, { limit }: { limit: string }): Promise<void> {
  const maxEntries = parsePositiveInteger(limit, "--limit", MAX_LIMIT);
  const found = await api.list("listPushMessages", "messages", { query: { by: "operator" } }, maxEntries);
  output.table(found, "No messages found.", {
    id: "id",
    created: "createdAt",
    status: "status",
    title: titleOf,
    kind: "kind",
    devices: "devices",
    waiting: "waiting",
    sent: "sent",
    failed: "failed",
    cancelled: "cancelled",
  });
}

function canceled(id: string) {
  if (!isUuid(id)) throw new UsageError("cancel takes the id of a message, as `messages` prints it.");
  return { params: { messageId: id } };
}

function cancellation({ sent, canceledAt }: ResultOf<"cancelPushMessage">): string {
  const devices = count(sent, "device");
  return canceledAt
    ? `Canceled. It was sent to ${devices}.`
    : `There was nothing to cancel: it was already sent to ${devices}.`;
}

async function retry({ api, output }: CommandContext, { id: ids }: { id?: string[] }): Promise<void> {
  const body = checked(Retry, { ids }, { ids: "--id" });
  const total = { resumed: 0, retried: 0 };
  for (let isComplete = false; !isComplete; ) {
    const result = await api.call("retryPushDeliveries", { body });
    total.resumed += result.resumed;
    total.retried += result.retried;
    isComplete = result.isComplete;
  }
  const [retried, resumed] = [count(total.retried, "failed notification"), count(total.resumed, "paused notification")];
  output.result(total, [`Requeued ${retried} and ${resumed}.`]);
}

async function pauses({ api, output }: CommandContext, { end }: { end?: string }): Promise<void> {
  if (end !== undefined) {
    const params = checked(PauseParams, { environment: end }, { environment: "--end" });
    const ended = await api.call("endPushPause", { params });
    return output.result(ended, [`The pause has ended. Requeued ${count(ended.resumed, "paused notification")}.`]);
  }
  const { pauses: found } = await api.call("listPushPauses");
  output.table(found, "Nothing is paused.", { environment: "environment", until: "until", reason: "reason" });
}

const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? "" : "s"}`;

/** The options that select an audience, and when it is notified. */
type AudienceOptions = {
  all?: boolean;
  bundle?: string;
  appFrom?: string;
  appBelow?: string;
  platform?: string;
  locale?: string;
  entitlement?: string;
  seenFrom?: string;
  seenBefore?: string;
};

/** Adds the options of `AudienceOptions` to a command. */
function withAudience(command: HomeportCommand): HomeportCommand {
  return command
    .option("--bundle <id>", "devices of an app: one of APNS_BUNDLE_IDS")
    .option("--app-from <version>", "devices with this version of the app or a later one")
    .option("--app-below <version>", "devices with an older version of the app")
    .addOption(oneOf("--platform <name>", "devices of a platform, such as ios", PLATFORMS))
    .option("--locale <tag>", "devices in a language, such as de or de-AT")
    .option("--entitlement <id>", "devices of accounts with an active entitlement")
    .option("--seen-from <time>", "devices seen since a time, or within a span such as 30d")
    .option("--seen-before <time>", "devices not seen since a time, or for a span such as 90d");
}

/** Returns the audience that the options select; null: they select none. @throws UsageError with every fault */
function audienceOf(options: AudienceOptions): Audience | null {
  const { all = false, bundle, appFrom, appBelow, platform, locale, entitlement, seenFrom, seenBefore } = options;
  const lastSeen = { from: parseTime(seenFrom, "ago"), before: parseTime(seenBefore, "ago") };
  const appVersion = { from: appFrom, below: appBelow };
  const given = {
    bundleId: bundle,
    appVersion: (appFrom ?? appBelow) === undefined ? undefined : appVersion,
    platform,
    locale,
    entitlement,
    lastSeen: (seenFrom ?? seenBefore) === undefined ? undefined : lastSeen,
  };
  const audience = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const isAnyone = Object.keys(audience).length === 0;
  if (all && !isAnyone) throw new UsageError("--all cannot be combined with other device options");
  if (isAnyone && !all) return null;
  return checked(Audience, audience, {
    bundleId: "--bundle",
    appVersion: "--app-from, --app-below",
    platform: "--platform",
    locale: "--locale",
    entitlement: "--entitlement",
    lastSeen: "--seen-from, --seen-before",
  });
}
