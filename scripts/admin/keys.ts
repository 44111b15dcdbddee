import { parseArgs } from "node:util";
import { createKey, listKeys, revokeKey } from "../../lib/admin/keys/keys";
import { type ApiKey, NewKey } from "../../lib/admin/keys/schema";
import { COMMAND_LINE, type Operator } from "../../lib/audit/operator-events";
import { Scope } from "../../lib/auth/api-keys/scopes";
import { loadConfig } from "../../lib/config";
import type { Context } from "../../lib/context";
import { isUuid } from "../../lib/db/ids";
import { COMMAND } from "../../lib/db/limits";
import { openDatabase } from "../../lib/db/open";
import { isAppError } from "../../lib/errors";
import { runCommandLine, UsageError } from "../command-line";
import { operatorName } from "./operator-name";

const HELP = `Usage: npm run keys -- COMMAND

  create NAME --scope S     creates an API key and prints it: this is the only time. Repeat --scope for several scopes:
                            ${Scope.options.join(", ")}
      --expires 90d         when the key expires: hours (12h), days (90d) or a time (2027-01-31T00:00:00Z). Default: never
      --network CIDR        a network that may use the key, such as 203.0.113.0/24. Repeat it for several. Default: all
      --json                prints { "id", "key", … } as JSON
  list [--json]             lists the keys, newest first
  revoke ID...              revokes keys, at once

With PostgreSQL (DATABASE_URL), run it at any time. With the embedded database, stop the service first.`;

type Deps = Pick<Context, "db" | "now">;

const OPERATOR: Operator = { actor: operatorName(), accountId: null, source: COMMAND_LINE };
const OPTIONS = {
  scope: { type: "string", multiple: true },
  network: { type: "string", multiple: true },
  expires: { type: "string" },
  json: { type: "boolean" },
} as const;
const UNITS_MS = { h: 3_600_000, d: 86_400_000 } as const;
type Values = { scope?: string[]; network?: string[]; expires?: string; json?: boolean };
type Command = (deps: Deps, args: string[], values: Values) => Promise<void>;

/** Checks the arguments of a command, before the database is opened. @throws UsageError */
function parseCommand(args: string[]): { run: Command; rest: string[]; values: Values } {
  const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true, strict: true });
  const [name = "", ...rest] = positionals;
  const run = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!run) throw new UsageError(name ? `Unknown command: ${name}` : "No command is given.");
  if (name === "create") parseNewKey(rest, values, new Date());
  if (name === "list" && rest.length > 0) throw new UsageError(`Unknown argument: ${rest.join(" ")}`);
  if (name === "revoke" && (rest.length === 0 || !rest.every(isUuid))) {
    throw new UsageError("revoke takes the ids of keys, as `list` prints them.");
  }
  return { run, rest, values };
}

function parseNewKey([name, ...others]: string[], { scope, network, expires }: Values, now: Date): NewKey {
  if (name === undefined || others.length > 0) throw new UsageError("create takes one name.");
  const fields = { name, scopes: scope ?? [], networks: network ?? [], expiresAt: parseExpiry(expires, now) };
  const parsed = NewKey.safeParse(fields);
  if (parsed.success) return parsed.data;
  const option = { scopes: "--scope", networks: "--network", expiresAt: "--expires", name: "NAME" };
  const faults = parsed.error.issues.map(
    ({ path: [field], message }) => `${option[field as keyof typeof option]}: ${message}`,
  );
  throw new UsageError(faults.join("\n"));
}

function parseExpiry(input: string | undefined, now: Date): string | undefined {
  const [, count, unit] = /^(\d{1,5})([hd])$/.exec(input ?? "") ?? [];
  if (count === undefined) return input;
  return new Date(now.getTime() + Number(count) * UNITS_MS[unit as "h" | "d"]).toISOString();
}

const create: Command = async (deps, args, values) => {
  const { id, key, ...created } = await createKey(deps, OPERATOR, parseNewKey(args, values, deps.now()));
  if (values.json) return console.log(JSON.stringify({ id, key, ...created }, null, 2));
  console.log(key);
  console.error(`Created ${id}. Store the key now: it is not shown again.`);
};

const list: Command = async (deps, _, { json }) => {
  const keys: ApiKey[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await listKeys(deps, { limit: 200, ...(cursor === undefined ? {} : { cursor }) });
    keys.push(...page.keys);
    cursor = page.nextCursor;
  }
  if (json) return console.log(JSON.stringify(keys, null, 2));
  if (keys.length === 0) console.error("No keys found.");
  for (const { id, prefix, status, lastUsedAt, scopes, name } of keys) {
    const used = `used ${lastUsedAt?.toISOString() ?? "never"}`;
    console.log([id, `${prefix}…`, status, used, scopes.join(","), name].join("  "));
  }
};

const revoke: Command = async (deps, ids) => {
  for (const id of ids) {
    await revokeKey(deps, OPERATOR, id).catch((error: unknown) => {
      throw isAppError(error) ? new Error(`There is no key ${id}.`) : error;
    });
    console.log(`${id} is revoked.`);
  }
};

const COMMANDS: Record<string, Command> = { create, list, revoke };

async function main(args: string[]): Promise<void> {
  const { run, rest, values } = parseCommand(args);
  const onConnectionError = (error: Error) => {
    throw error;
  };
  const database = await openDatabase(loadConfig(), { onConnectionError }, COMMAND);
  try {
    if (!(await database.migrated())) throw new Error("Migrations are missing: run `npm run db:migrate` first.");
    await run({ db: database.client, now: () => new Date() }, rest, values);
  } finally {
    await database.close();
  }
}

runCommandLine(HELP, main).finally(() => process.exit());
