import { z } from "zod";
import type { Context } from "../../context";
import { isAppError } from "../../errors";
import { seen } from "../../platform/precondition";
import type { Operator } from "../../principal";
import { changeRollout, startRollout } from "../rollouts/manage-rollouts";
import { changeReleases, promoteInCatalog, rollBackCatalog } from "./manage-releases";
import { filterOf, type PreviewedAction, planOf, toProposedChange } from "./release-action";
import { NOTES_FIELDS } from "./seen-state";

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

const text = z.string().max(256);

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
