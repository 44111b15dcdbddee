import { parseArgs } from "node:util";
import { listDeliveries, listPauses } from "../../lib/admin/push/deliveries";
import { announceVersion, sendCustomNotification } from "../../lib/admin/push/notify";
import { retryDeliveries } from "../../lib/admin/push/retry";
import { Email } from "../../lib/auth/email";
import { type Config, loadConfig } from "../../lib/config";
import { databaseNow } from "../../lib/db/clock";
import { PushDeliveryState } from "../../lib/db/generated/client";
import { isUuid } from "../../lib/db/ids";
import { COMMAND } from "../../lib/db/limits";
import { openDatabase } from "../../lib/db/open";
import { runCommandLine, UsageError } from "../command-line";

const HELP = `Usage: npm run push -- COMMAND

Commands:
  send --account ID|EMAIL --title TEXT --body TEXT [--link URL]   notifies the devices of an account
  announce --version VERSION [--bundle ID] [--per-second 1000]    announces a version to every device, or to one app's
  list [--account ID|EMAIL] [--state STATE] [--limit 20]          lists the newest notifications and current pauses
  retry [--id ID]...                                              ends pauses and requeues failed notifications

STATE is one of ${Object.values(PushDeliveryState).join(", ")}.`;

/** A CFBundleShortVersionString (Apple, "Information Property List") or a semantic version. */
const VERSION = /^\d+(\.\d+){0,3}(-[\dA-Za-z.-]+)?(\+[\dA-Za-z.-]+)?$/;

type Deps = Parameters<typeof retryDeliveries>[0] & { config: Config };
type Flags = ReturnType<typeof readFlags>["values"];

type Run = (deps: Deps) => Promise<void>;

/** Each command validates its flags and returns what to run once the database is open. */
const COMMANDS: Record<string, (flags: Flags) => Run> = {
  send: ({ account, title, body, link = null }) => {
    if (!account || !title || !body) throw new UsageError("send needs --account, --title and --body");
    return async (deps) => {
      const devices = await sendCustomNotification(deps, {
        accountId: await accountId(deps, account),
        title,
        body,
        link,
      });
      console.log(devices > 0 ? `Queued for ${count(devices, "device")}.` : "The account has no active device.");
    };
  },
  announce: ({ version, bundle: bundleId, "per-second": rate = "1000" }) => {
    if (!version) throw new UsageError("announce needs --version");
    if (!VERSION.test(version)) throw new UsageError(`Invalid version: ${version}. Use a version such as 2.1.0.`);
    const perSecond = positive(rate, "--per-second");
    return async (deps) => {
      if (bundleId !== undefined) requireBundle(deps, bundleId);
      const devices = await announceVersion(deps, { version, bundleId, perSecond });
      console.log(
        `Queued for ${count(devices, "device")}. The last one is due in ${Math.ceil(devices / perSecond)} s.`,
      );
    };
  },
  list: ({ account, state: given, limit = "20" }) => {
    const state = Object.values(PushDeliveryState).find((known) => known === given);
    if (given !== undefined && !state) throw new UsageError(`Unknown state: ${given}`);
    const maxRows = positive(limit, "--limit");
    return async (deps) => {
      const of = account === undefined ? undefined : await accountId(deps, account);
      const rows = await listDeliveries(deps, { accountId: of, state, limit: maxRows });
      for (const row of rows) console.log(JSON.stringify(row));
      if (rows.length === 0) console.error("No notifications found.");
      for (const { environment, until, reason } of await listPauses(deps)) {
        console.error(
          `Deliveries to ${environment} are paused until ${until.toISOString()}: ${reason}. "retry" ends the pause.`,
        );
      }
    };
  },
  retry: ({ id = [] }) => {
    const invalid = id.find((each) => !isUuid(each));
    if (invalid !== undefined) throw new UsageError(`Invalid id: ${invalid}`);
    return async (deps) => {
      const { resumed, retried } = await retryDeliveries(deps, id);
      console.log(`Requeued ${count(retried, "failed notification")} and ${count(resumed, "paused notification")}.`);
    };
  },
};

function readFlags(args: string[]) {
  const text = { type: "string" } as const;
  return parseArgs({
    args,
    allowPositionals: true,
    options: {
      account: text,
      title: text,
      body: text,
      link: text,
      version: text,
      bundle: text,
      "per-second": text,
      state: text,
      limit: text,
      id: { type: "string", multiple: true },
    },
  });
}

async function accountId({ db }: Deps, given: string): Promise<string> {
  const email = Email.safeParse(given);
  const where = isUuid(given) ? { id: given } : email.success ? { email: email.data } : null;
  const account = where && (await db.account.findUnique({ where, select: { id: true } }));
  if (!account) throw new Error(`Account not found: ${given}`);
  return account.id;
}

function requireBundle({ config }: Deps, bundleId: string): void {
  const known = config.APNS_BUNDLE_IDS;
  if (!known.includes(bundleId)) throw new Error(`${bundleId} is not in APNS_BUNDLE_IDS: ${known.join(", ")}`);
}

function positive(text: string, name: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new UsageError(`${name} must be a positive integer`);
  return number;
}

const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? "" : "s"}`;

async function main(args: string[]): Promise<void> {
  const { positionals, values } = readFlags(args);
  const [command = "", ...rest] = positionals;
  if (!Object.hasOwn(COMMANDS, command) || rest.length > 0) {
    throw new UsageError(command ? `Unknown command: ${positionals.join(" ")}` : "A command is required.");
  }
  const run = COMMANDS[command]?.(values);
  const onConnectionError = (error: Error) => {
    throw error;
  };
  const config = loadConfig();
  const database = await openDatabase(config, { onConnectionError }, COMMAND);
  try {
    await run?.({ config, db: database.client, dbNow: databaseNow });
  } finally {
    await database.close();
  }
}

runCommandLine(HELP, main).finally(() => process.exit());
