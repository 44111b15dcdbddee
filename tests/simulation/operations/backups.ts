import { gunzipSync } from "node:zlib";
import type { Account } from "../model/accounts";
import { Violation } from "../model/fact";
import { BACKUP_DAYS } from "../world";
import type { Operation, Step } from "./operation";

const NAME = /^homeport-(\d{8})T\d{6}Z\.backup$/;
const PERIOD_MS = 30 * 60_000;

/** The rows of a backup, by table. Each has its values by column. */
type Rows = Map<string, Record<string, string>[]>;

/** Reads a backup to its last line, which has the number of rows of each table. @throws Violation */
function readRows(name: string, bytes: Buffer): Rows {
  const tables: Rows = new Map();
  try {
    const [, ...lines] = gunzipSync(bytes).toString().trimEnd().split("\n");
    const last = JSON.parse(lines.pop() ?? "") as { tables: { name: string; rows: number }[] };
    for (let i = 0; i < lines.length; i++) {
      const { table, columns } = JSON.parse(lines[i] ?? "") as { table: string; columns: string[] };
      const end = lines.indexOf("\\.", i);
      const rows = lines.slice(i + 1, end).map((line) => line.split("\t"));
      tables.set(
        table,
        rows.map((values) => Object.fromEntries(columns.map((column, at) => [column, values[at] ?? ""]))),
      );
      i = end;
    }
    for (const { name: table, rows } of last.tables)
      if (tables.get(table)?.length !== rows) throw new Error(`${table} has not ${rows} rows`);
    // They are of one moment.
    const ids = new Set(tables.get("Account")?.map(({ id }) => id));
    const other = tables.get("Session")?.find(({ accountId }) => !ids.has(accountId));
    if (other) throw new Error(`session ${other.id} has no account`);
  } catch (error) {
    throw new Violation("backup is not whole", `${name}: ${(error as Error).message}`);
  }
  return tables;
}

/** What was acknowledged until now. The result compares a backup with it that begins later. */
function remember({ model }: Step): (name: string, rows: Rows) => void {
  const isSure = ({ id, isUnclear }: Account) => id !== null && !isUnclear;
  const idsOf = (exists: boolean) =>
    model.accounts.filter((one) => isSure(one) && one.exists.is(exists)).map((one) => [one.id, one.name] as const);
  const [there, gone] = [idsOf(true), idsOf(false)];
  const audited = [...model.audited].filter(([key]) => !key.includes(" "));
  const counts = audited.map(([type, { acknowledged }]) => [type, acknowledged] as const);
  return (name, rows) => {
    const ids = new Set(rows.get("Account")?.map(({ id }) => id));
    // It may have been deleted since.
    const lost = there.find(
      ([id]) => !ids.has(id ?? "") && model.accounts.some((one) => one.id === id && one.exists.is(true)),
    );
    if (lost) throw new Violation("backup lacks what was acknowledged", `${lost[1]} in ${name}`);
    const kept = gone.find(([id]) => ids.has(id ?? ""));
    if (kept) throw new Violation("backup has a deleted account", `${kept[1]} in ${name}`);
    const events = rows.get("AuditEvent")?.filter(({ actor }) => actor === "operator:sim") ?? [];
    for (const [type, acknowledged] of counts) {
      const { length } = events.filter((event) => event.type === type);
      if (length < acknowledged)
        throw new Violation("backup lacks what was acknowledged", `${type}: ${length} of ${acknowledged} in ${name}`);
    }
  };
}

/** Backs up by a request. Returns the name of the backup; null: there is none. */
export async function backUp(step: Step, operator = "sim"): Promise<string | null> {
  const { world, model } = step;
  const compare = remember(step);
  const audit = operator === "sim" ? model.willAudit("backup_made") : null;
  const answer = await step.send("back up", "POST", "/api/admin/backups", { operator, json: {} });
  const { outcome, status, body } = answer;
  if (outcome === "unknown") return null;
  if (outcome === "done") audit?.done();
  // It is recorded before the storage has completed it, which may fail.
  else if (status < 500) audit?.refused();
  // What a process has left behind that was killed in this second has the same name.
  if (status === 500 && !step.isDisturbed() && model.crashes.count === 0)
    throw new Violation("backup fails without a fault", JSON.stringify(body));
  if (outcome === "refused") return null;
  const backups = world.readBackups();
  const bytes = backups.get(body.file);
  if (bytes) compare(body.file, readRows(body.file, bytes));
  else if (![...backups.keys()].some((name) => NAME.test(name) && name > body.file))
    throw new Violation("backup is lost", body.file);
  return body.file;
}

/** What has a backup's name is whole at any time. */
function readAll({ world }: Step): Map<string, Rows> {
  const backups = [...world.readBackups()].filter(([name]) => NAME.test(name));
  return new Map(backups.map(([name, bytes]) => [name, readRows(name, bytes)]));
}

/** After all faults have ceased: each backup can be read, the schedule is kept, and what it does not keep is removed. */
export async function checkBackups(step: Step): Promise<void> {
  const { world, model } = step;
  if (world.backups === null) return;
  readAll(step);
  const compare = remember(step);
  const before = namesOf(step);
  await world.passAtRest(PERIOD_MS);
  await new Promise((resolve) => setTimeout(resolve, 65_000));
  const names = namesOf(step);
  const newest = names[0] ?? "";
  if (before.includes(newest) || newest === "")
    throw new Violation("scheduled backup is missing", `${newest} is the newest`);
  compare(newest, readAll(step).get(newest) ?? new Map());
  const dayOf = (name: string) => NAME.exec(name)?.[1];
  const firstOfDay = names.filter((name, i) => i === 0 || dayOf(name) !== dayOf(names[i - 1] ?? ""));
  const kept = firstOfDay.slice(0, BACKUP_DAYS);
  if (JSON.stringify(names) !== JSON.stringify(kept)) throw new Violation("old backup is kept", names.join(" "));
  const left = model.crashes.count === 0 ? world.temporaryFiles() : [];
  if (left.length > 0) throw new Violation("temporary file is left", left.join(" "));
}

/** The newest first. */
const namesOf = ({ world }: Step) =>
  [...world.readBackups().keys()]
    .filter((name) => NAME.test(name))
    .sort()
    .reverse();

export const backupOperations: Operation[] = [
  { name: "back up", weight: 0.6, start: (step) => (step.world.backups === null ? null : backUp(step).then(() => {})) },
];
