import { userInfo } from "node:os";
import { endRollouts, haltRollouts, resumeRollouts } from "../../../lib/admin/releases/rollouts/change-rollouts";
import {
  assertSchedulable,
  type RolloutPlan,
  type ScheduledRelease,
  scheduleRollout,
} from "../../../lib/admin/releases/rollouts/schedule-rollout";
import type { ReleaseFilter } from "../../../lib/admin/releases/select";
import { COMMAND_LINE, type Operator } from "../../../lib/audit/operator-events";
import { loadConfig } from "../../../lib/config";
import { databaseNow } from "../../../lib/db/clock";
import { UsageError } from "../../command-line";
import type { Command, Open } from "../release/command";
import { FILTER_OPTIONS, flag, parseInteger, parseOptions, parsePercentage, text, toFilter } from "../release/options";
import type { ReleaseStore } from "../release/store/release-store";
import { withDatabase } from "./with-database";

const OPTIONS = {
  ...FILTER_OPTIONS,
  ...{ steps: text, every: text, "max-failures": text, "min-reports": text, "min-adoption": text },
  ...{ halt: flag, reason: text, resume: flag },
} as const;

const UNIT_SECONDS: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 };

type Values = ReturnType<typeof parseOptions<typeof OPTIONS>>["values"];

/** The operator is named in the audit trail. */
const operator = (): Operator => ({
  actor: `operator:${process.env.SUDO_USER ?? userInfo().username}`,
  accountId: null,
  source: COMMAND_LINE,
});

/** `rollout RELEASE N`, `rollout RELEASE --steps 5,20,100 --every 24h`, `rollout RELEASE --halt` and `--resume` */
export const rollout: Command = async (args, open) => {
  const { values, positionals } = parseOptions(OPTIONS, args, true);
  const modes = [values.steps !== undefined, values.halt, values.resume].filter(Boolean).length;
  if (modes > 1) throw new UsageError("--steps, --halt and --resume exclude each other.");
  if (modes === 0) return setRollout(values, positionals, open);
  const plan = values.steps === undefined ? null : parsePlan(values);
  const { store, output } = await open(values);
  if (store.isRemote)
    throw new UsageError("Schedules are in the service's database: set them there, without HOMEPORT_URL.");
  const releases = await findReleases(store, toFilter(values, positionals));
  const ids = releases.map(({ id }) => id);
  if (plan) assertSchedulable(releases, plan);
  const outcome = await withDatabase(loadConfig(), async (db) => {
    const deps = { db, dbNow: databaseNow };
    if (!plan) return changeRollouts(deps, ids, values);
    await store.update({ ids }, { rollout: plan.steps[0] });
    await scheduleRollout(deps, releases, plan, operator());
    return `rolled out in steps: ${plan.steps.map((step) => `${step} %`).join(", ")}`;
  });
  if (outcome === null) console.error("None of these releases has a rollout in this state.");
  output.result({ releases: ids, outcome }, outcome === null ? [] : ids.map((id) => `${id}: ${outcome}`));
};

/** Sets a percentage in the catalog, which ends a schedule. Without PostgreSQL the service notices this by itself. */
async function setRollout(values: Values, positionals: string[], open: Open): Promise<void> {
  const percentage = parsePercentage(positionals.at(-1));
  const { store, output } = await open(values);
  const updated = await store.update(toFilter(values, positionals.slice(0, -1)), { rollout: percentage });
  const ids = updated.releases.map(({ id }) => id);
  const config = store.isRemote ? null : loadConfig();
  if (config?.mode === "server") await withDatabase(config, (db) => endRollouts({ db }, ids));
  const outcome = percentage === 0 ? "paused" : `rolled out to ${percentage} %`;
  output.result(
    updated,
    ids.map((id) => `${id}: ${outcome}`),
  );
}

async function changeRollouts(deps: Parameters<typeof haltRollouts>[0], ids: string[], { halt, reason }: Values) {
  const changed = halt
    ? await haltRollouts(deps, ids, reason ?? "An operator halted it.", operator())
    : await resumeRollouts(deps, ids, operator());
  return changed.length === 0 ? null : halt ? "halted" : "resumed";
}

/** The releases that a command names. An update without changes selects them and writes nothing. */
async function findReleases(store: ReleaseStore, filter: ReleaseFilter): Promise<ScheduledRelease[]> {
  const { releases } = await store.update(filter, {});
  const ids = new Set(releases.map(({ id }) => id));
  return (await store.list({})).filter(({ id }) => ids.has(id));
}

/** @throws UsageError */
function parsePlan(values: Values): RolloutPlan {
  const { steps = "", every } = values;
  const [, digits, unit = ""] = /^(\d{1,5})([mhd])$/.exec(every ?? "") ?? [];
  if (digits === undefined) throw new UsageError("--steps requires --every, such as 24h, 90m or 3d.");
  return {
    steps: steps.split(",").map(parsePercentage),
    everySeconds: Number(digits) * (UNIT_SECONDS[unit] ?? 0),
    maxFailureShare: parseShare(values["max-failures"]),
    minReports: parseInteger(values["min-reports"], "--min-reports"),
    minAdoptionShare: parseShare(values["min-adoption"]),
  };
}

const parseShare = (input: string | undefined) => (input === undefined ? undefined : parsePercentage(input) / 100);
