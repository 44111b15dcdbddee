import { selectReleases } from "../../../lib/releases/publishing/filter-releases";
import type { ReleasesFilter } from "../../../lib/releases/publishing/schema";
import { UsageError } from "../../command-line";
import { parseDurationMs } from "../options";
import type { AdminApi } from "../transport/admin-api";
import type { ReleaseCommand, ReleaseCommandContext } from "./define-release-command";
import { FILTER_OPTIONS, parseInteger, parsePercentage, toFilter, type Values } from "./options";

export const ROLLOUT_OPTIONS = {
  steps: { value: "percents", help: "advance automatically through these percentages, such as 5,20,50,100" },
  every: { value: "time", help: "with --steps: how long a step lasts: 90m, 24h or 3d" },
  start: {
    value: "time",
    help: "with --steps: when the first step begins, such as 2027-01-31T06:00:00Z (default: now)",
  },
  "max-failures": {
    value: "percent",
    help: "with --steps: halt if more than this percentage of reports are failures (default: 5)",
  },
  "min-reports": {
    value: "count",
    help: "with --steps: minimum number of reports before failures count (default: 50)",
  },
  "min-adoption": {
    value: "percent",
    help: "with --steps: halt if fewer clients check for updates with the version (default: 10)",
  },
  halt: { help: "halt a rollout: without a schedule, set it to 0" },
  reason: { value: "text", help: "with --halt: the reason" },
  resume: { help: "resume a halted rollout at the same step" },
  ...FILTER_OPTIONS,
} as const;
type RolloutValues = Values<typeof ROLLOUT_OPTIONS>;

/** `rollout RELEASE N`, `rollout RELEASE --steps 5,20,100 --every 24h`, `rollout RELEASE --halt` and `--resume` */
export const rollout: ReleaseCommand<typeof ROLLOUT_OPTIONS> = async (context, values, positionals) => {
  const modes = [values.steps !== undefined, values.halt, values.resume].filter(Boolean).length;
  if (modes > 1) throw new UsageError("--steps, --halt and --resume are mutually exclusive.");
  if (modes === 0) return setRollout(context, values, positionals);
  if (context.hasOwnCatalog) throw new UsageError("Schedules apply only to the service's own catalog: omit --catalog.");
  const filter = toFilter(values, positionals);
  if (values.steps !== undefined) return scheduleRollout(context, filter, values);
  return changeRollouts(context, filter, values);
};

/** Sets a percentage in the catalog, which ends a schedule. */
async function setRollout(context: ReleaseCommandContext, values: RolloutValues, positionals: string[]): Promise<void> {
  const percentage = parsePercentage(positionals.at(-1));
  const store = await context.openStore();
  const updated = await store.update(toFilter(values, positionals.slice(0, -1)), { rollout: percentage });
  const outcome = percentage === 0 ? "paused" : `rolled out to ${percentage}%`;
  const lines = updated.releases.map(({ id }) => `${id}: ${outcome}`);
  for (const note of updated.notes) console.error(note);
  context.output.result(updated, lines);
}

async function scheduleRollout({ api, output }: ReleaseCommandContext, filter: ReleasesFilter, values: RolloutValues) {
  const plan = parsePlan(values);
  const { releaseIds } = await api.call("scheduleRollout", { body: { filter, ...plan } });
  const start = plan.startsAt === undefined ? "" : ` from ${plan.startsAt}`;
  print(output, releaseIds, `rolled out in steps${start}: ${plan.steps.map((step) => `${step}%`).join(", ")}`);
}

async function changeRollouts(
  { api, output }: ReleaseCommandContext,
  filter: ReleasesFilter,
  { halt, reason }: RolloutValues,
) {
  const ids = await selectIds(api, filter);
  const { rollouts: all } = await api.call("listRollouts");
  const own = all.filter(({ releaseIds }) => releaseIds.some((id) => ids.includes(id)));
  const rollouts = own.filter(({ state }) => (state === "halted") === !halt);
  const body = halt ? ({ state: "halted", reason } as const) : ({ state: "running" } as const);
  for (const { id } of rollouts) await api.call("changeRollout", { params: { rolloutId: id }, body });
  const unscheduled = halt ? ids.filter((id) => !own.some(({ releaseIds }) => releaseIds.includes(id))) : [];
  if (unscheduled.length > 0) {
    const body = { filter: { ids: unscheduled }, change: { rollout: 0 }, reason };
    await api.call("changeReleases", { body });
  }
  const isUnchanged = rollouts.length + unscheduled.length === 0;
  if (isUnchanged) output.note("None of these releases has a rollout in this state.");
  print(output, ids, isUnchanged ? null : halt ? "halted" : "resumed");
}

function print(output: ReleaseCommandContext["output"], releases: string[], outcome: string | null): void {
  output.result({ releases, outcome }, outcome === null ? [] : releases.map((id) => `${id}: ${outcome}`));
}

async function selectIds(api: AdminApi, filter: ReleasesFilter): Promise<string[]> {
  const { ids: _, ...query } = filter;
  const releases = await api.list("listReleases", "releases", { query });
  return selectReleases(releases, filter).map(({ id }) => id);
}

function parsePlan(values: RolloutValues) {
  const { steps = "", every } = values;
  const everyMs = parseDurationMs(every, "mhd");
  if (everyMs === null) throw new UsageError("--steps requires --every, such as 24h, 90m or 3d.");
  return {
    steps: steps.split(",").map(parsePercentage),
    everySeconds: everyMs / 1000,
    startsAt: values.start,
    maxFailureShare: parseShare(values["max-failures"]),
    minReports: parseInteger(values["min-reports"], "--min-reports"),
    minAdoptionShare: parseShare(values["min-adoption"]),
  };
}

const parseShare = (input: string | undefined) => (input === undefined ? undefined : parsePercentage(input) / 100);
