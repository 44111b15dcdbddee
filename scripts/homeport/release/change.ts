import type { ChangedRelease, ChangeResult } from "../../../lib/releases/publishing/schema";
import { UsageError } from "../../command-line";
import type { ReleaseCommand } from "./define-release-command";
import { CHECK_OPTIONS, FIELD_OPTIONS, parseFields } from "./draft";
import { FILTER_OPTIONS, parsePercentage, toFilter } from "./options";

/** Commands that set a flag of a release, and clear it with --undo. */
const FLAGS = {
  yank: { field: "yanked", set: "yanked", cleared: "no longer yanked" },
  rollback: {
    field: "rollback",
    set: "also offered to clients with a withdrawn version",
    cleared: "no longer a rollback",
  },
  critical: { field: "critical", set: "critical", cleared: "no longer critical" },
} as const;

export const FLAG_OPTIONS = { ...FILTER_OPTIONS, undo: { help: "undo the change" } } as const;

function flagCommand(name: keyof typeof FLAGS): ReleaseCommand<typeof FLAG_OPTIONS> {
  const { field, set, cleared } = FLAGS[name];
  return async ({ openStore, output }, values, positionals) => {
    const { undo = false } = values;
    const store = await openStore();
    const updated = await store.update(toFilter(values, positionals), { [field]: !undo });
    const newerServed = name === "rollback" && !undo ? updated.newerServed : [];
    const blocking = newerServed.map(
      (id) => `${id} is newer and still served, so its clients do not roll back: yank it, or set its rollout to 0.`,
    );
    for (const note of updated.notes) console.error(note);
    output.result({ ...updated, newerServed }, [...linesOf(updated, undo ? cleared : set), ...blocking]);
  };
}

export const yank = flagCommand("yank");
export const rollback = flagCommand("rollback");
export const critical = flagCommand("critical");

export const EDIT_OPTIONS = {
  ...FILTER_OPTIONS,
  ...FIELD_OPTIONS,
  clear: { value: "option", help: "remove a field, such as minimum-system; may be repeated", isRepeatable: true },
} as const;

/** The options that `edit --clear` takes, and their fields. */
const CLEARABLE: Readonly<Record<string, keyof ChangedRelease>> = {
  "notes-url": "notesUrl",
  "minimum-supported": "minimumSupportedVersion",
  "minimum-system": "minimumSystemVersion",
  "requires-from": "requiresFrom",
  "rollout-series": "rolloutSeries",
  "build-version": "buildVersion",
  "phased-rollout-interval": "phasedRolloutIntervalSeconds",
};

/** `edit RELEASE --notes TEXT …` */
export const edit: ReleaseCommand<typeof EDIT_OPTIONS> = async ({ openStore, output }, values, positionals) => {
  const change = await parseFields(values);
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  const cleared = (values.clear ?? []).map((name) => [clearableField(name), null]);
  if (given.length + cleared.length === 0) throw new UsageError("edit takes at least one option that changes a field.");
  const store = await openStore();
  const updated = await store.update(toFilter(values, positionals), Object.fromEntries([...given, ...cleared]));
  for (const note of updated.notes) console.error(note);
  output.result(updated, linesOf(updated, "changed"));
};

function clearableField(name: string): keyof ChangedRelease {
  const field = Object.hasOwn(CLEARABLE, name) ? CLEARABLE[name] : undefined;
  if (!field) throw new UsageError(`--clear must be one of ${Object.keys(CLEARABLE).join(", ")}.`);
  return field;
}

export const PROMOTE_OPTIONS = {
  from: { value: "channel", help: "the channel of the build (required)" },
  to: { value: "channel", help: "the channel on which the build is also offered (required)" },
  rollout: { value: "percent", help: "percentage of that channel's clients that receive it (default: 100)" },
  new: { help: "this adds a new channel" },
  prerelease: CHECK_OPTIONS.prerelease,
  unsigned: CHECK_OPTIONS.unsigned,
  ...FILTER_OPTIONS,
} as const;

/** `promote RELEASE --from beta --to stable` */
export const promote: ReleaseCommand<typeof PROMOTE_OPTIONS> = async ({ openStore, output }, values, positionals) => {
  const { from, to } = values;
  if (from === undefined || to === undefined) throw new UsageError("promote requires --from and --to.");
  if (from === to) throw new UsageError("--from and --to must be different channels.");
  const promotion = {
    from,
    to,
    rollout: values.rollout === undefined ? undefined : parsePercentage(values.rollout),
    confirmations: { isNew: values.new, isPrerelease: values.prerelease, isUnsigned: values.unsigned },
  };
  const store = await openStore();
  const promoted = await store.promote(toFilter({ ...values, channel: undefined }, positionals), promotion);
  const lines = promoted.releases.map(
    ({ id, outcome }) => `${id}: ${outcome === "added" ? "published" : "already published"} on ${to}`,
  );
  output.result(promoted, lines);
};

function linesOf({ releases }: ChangeResult, outcome: string): string[] {
  return releases.map(({ id }) => `${id}: ${outcome}`);
}
