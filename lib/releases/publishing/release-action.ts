import { z } from "zod";
import type { Context } from "../../context";
import { AppError, isAppError } from "../../errors";
import { seen } from "../../platform/precondition";
import type { Operator } from "../../principal";
import { changeRollout, startRollout } from "../rollouts/manage-rollouts";
import { changeReleases, promoteInCatalog, rollBackCatalog } from "./manage-releases";
import type { ChangedRelease, NewRollout, ProposedChange } from "./schema";
import { NOTES_FIELDS } from "./seen-state";

export const ActionName = z.enum([
  "rollout",
  "schedule",
  "halt",
  "resume",
  "complete",
  "yank",
  "restore",
  "critical",
  "not_critical",
  "rollback",
  "promote",
]);
export type ActionName = z.infer<typeof ActionName>;

const text = z.string().trim().max(256);

/** What an operator wants to do with a version, as a form or a link has it. */
export const ReleaseAction = z.object({
  action: ActionName,
  product: text,
  channel: text,
  version: text,
  /** The number beside the slider, the slider, and what both showed at first: without a script they differ. */
  percentage: text.optional(),
  slider: text.optional(),
  shown: text.optional(),
  /** Of a schedule: percentages separated by commas, and how long a step lasts. */
  steps: text.optional(),
  every: text.optional(),
  unit: z.enum(["minutes", "hours", "days"]).optional(),
  /** In UTC, as `datetime-local` sends it. */
  startsAt: text.optional(),
  rolloutId: text.optional(),
  to: text.optional(),
  withdrawal: z.enum(["yank", "pause"]).optional(),
  reason: z.string().trim().max(500).optional(),
});
export type ReleaseAction = z.infer<typeof ReleaseAction>;

export function versionPath({ product, channel, version }: Record<"product" | "channel" | "version", string>): string {
  return `/console/releases/${[product, channel, version].map(encodeURIComponent).join("/")}`;
}

const UNIT_SECONDS = { minutes: 60, hours: 3600, days: 86_400 } as const;
/** What a form sends with an action: the state that its preview showed. */
export const PreviewedAction = ReleaseAction.extend({ previewed: text });
type PreviewedAction = z.infer<typeof PreviewedAction>;

const STATES = { halt: "halted", resume: "running", complete: "completed" } as const;

/** The fields that an action changes, of those that change a release. To halt a percentage without a schedule is to set 0. */
function fieldsOf(action: ReleaseAction): ChangedRelease | null {
  if (action.action === "rollout") return { rollout: percentageOf(action) };
  if (action.action === "halt") return { rollout: 0 };
  if (action.action === "yank" || action.action === "restore") return { yanked: action.action === "yank" };
  if (action.action === "critical" || action.action === "not_critical")
    return { critical: action.action === "critical" };
  return null;
}

function filterOf({ product, channel, version }: ReleaseAction) {
  return { product, channel, version };
}

/** The state that an action gives a schedule; null for other actions. */
function stateOf({ action, rolloutId }: ReleaseAction): (typeof STATES)[keyof typeof STATES] | null {
  if (rolloutId === undefined && action === "halt") return null;
  return action === "halt" || action === "resume" || action === "complete" ? STATES[action] : null;
}

/** What an action would change, for its preview. @throws AppError validation_failed */
export function toProposedChange(action: ReleaseAction): ProposedChange {
  const filter = filterOf(action);
  const state = stateOf(action);
  if (state !== null) return { kind: "rollout", rolloutId: action.rolloutId ?? "", state };
  if (action.action === "rollback") return { kind: "rollback", filter, withdrawal: action.withdrawal ?? "yank" };
  if (action.action === "promote") return { kind: "promotion", ...promotionOf(action) };
  if (action.action === "schedule") {
    const { steps, startsAt } = planOf(action);
    return { kind: "change", filter, change: { rollout: startsAt ? 0 : (steps[0] ?? 0) } };
  }
  return { kind: "change", filter, change: fieldsOf(action) ?? {} };
}

function promotionOf(action: ReleaseAction) {
  const { channel: from, to = "stable" } = action;
  const confirmations = { isNew: true };
  return { filter: filterOf(action), from, to, rollout: percentageOf(action), confirmations };
}

/** The percentage of an action: 100 if the form had none. @throws AppError validation_failed */
function percentageOf({ percentage, slider, shown }: ReleaseAction): number {
  const isTyped = percentage !== undefined && percentage !== shown;
  return parsePercentage(isTyped ? percentage : (slider ?? percentage ?? "100"), "percentage");
}

function parsePercentage(given: string, field: string): number {
  const value = /^\d{1,3}(\.\d)?$/.test(given) ? Number(given) : Number.NaN;
  if (value <= 100) return value;
  throw invalid(field, "Must be from 0 to 100, with at most one decimal");
}

/** The schedule of an action. @throws AppError validation_failed */
function planOf({ steps = "", every = "", unit = "hours", startsAt = "" }: ReleaseAction): Omit<NewRollout, "filter"> {
  if (!/^\d{1,5}$/.test(every)) throw invalid("every", "Must be a number");
  const start = startsAt === "" ? undefined : new Date(`${startsAt}Z`);
  if (start && Number.isNaN(start.getTime())) throw invalid("startsAt", "Must be a time");
  return {
    steps: steps.split(",").map((step) => parsePercentage(step.trim(), "steps")),
    everySeconds: Number(every) * UNIT_SECONDS[unit],
    ...(start && { startsAt: start }),
  };
}

function invalid(field: string, detail: string): AppError {
  return new AppError("validation_failed", { errors: [{ pointer: `/${field}`, code: "invalid_format", detail }] });
}

type Deps = Pick<Context, "catalog" | "config" | "db" | "dbNow" | "log" | "now" | "rollouts" | "webhooks">;

/** Performs an action that an operator has previewed. false: nothing was changed, as the preview is no longer true. */
export async function performAction(deps: Deps, operator: Operator, action: PreviewedAction): Promise<boolean> {
  try {
    await perform(deps, operator, action);
    return true;
  } catch (error) {
    if (isAppError(error) && error.code === "precondition_failed") return false;
    throw error;
  }
}

async function perform(deps: Deps, operator: Operator, action: PreviewedAction): Promise<unknown> {
  const reason = action.reason ? { reason: action.reason } : {};
  const precondition = seen(action.previewed);
  if (action.action === "schedule") {
    return startRollout(deps, operator, { filter: filterOf(action), ...planOf(action) }, precondition);
  }
  const change = toProposedChange(action);
  if (change.kind === "rollout")
    return changeRollout(deps, operator, change.rolloutId, { ...change, ...reason }, precondition);
  if (change.kind === "rollback") return rollBackCatalog(deps, operator, change, precondition);
  if (change.kind === "promotion") return promoteInCatalog(deps, operator, change, precondition);
  return changeReleases(deps, operator, { ...change, ...reason }, precondition);
}

/** The form with the release notes of a version. The browser does not send an empty field. */
export const NotesForm = z.object({
  product: text,
  channel: text,
  version: text,
  notes: z.string().default(""),
  notesUrl: text.nullable().default(null),
  /** The notes that the page has shown, by `stateOfFields`. */
  previewed: text,
});

const OVERWRITTEN =
  "Somebody else has changed these notes since you opened the page. Copy your text, reload the page, and add it to theirs.";

/** Changes the release notes. @throws AppError precondition_failed if they are not those that the page has shown */
export async function changeNotes(
  deps: Parameters<typeof changeReleases>[0],
  operator: Operator,
  { product, channel, version, notes, notesUrl, previewed }: z.infer<typeof NotesForm>,
): Promise<void> {
  const changed = { filter: { product, channel, version }, change: { notes, notesUrl } };
  await changeReleases(deps, operator, changed, { ...seen(previewed, OVERWRITTEN), fields: NOTES_FIELDS });
}
