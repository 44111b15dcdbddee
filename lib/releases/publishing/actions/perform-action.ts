import type { Context } from "../../../context";
import { isAppError } from "../../../errors";
import { seen } from "../../../platform/precondition";
import type { Operator } from "../../../principal";
import { promoteInCatalog, rollBackCatalog } from "../api/maintain-catalog";
import { changeReleases } from "../api/manage-releases";
import { changeRollout, startRollout } from "../api/manage-rollouts";
import { fieldsOf, filterOf, type PreviewedAction, planOf, promotionOf, stateOf } from "./release-action";

type Deps = Pick<Context, "catalog" | "config" | "db" | "dbNow" | "log" | "now" | "rollouts" | "webhooks">;

/**
 * Performs an action that an operator has previewed. Returns false, and changes nothing, if the preview is no longer true.
 * @throws AppError as the API's routes for the same action
 */
export async function performAction(deps: Deps, operator: Operator, action: PreviewedAction): Promise<boolean> {
  try {
    await perform(deps, operator, action);
    return true;
  } catch (error) {
    if (isAppError(error) && error.code === "precondition_failed") return false;
    throw error;
  }
}

async function perform(deps: Deps, operator: Operator, action: PreviewedAction): Promise<void> {
  const filter = filterOf(action);
  const state = stateOf(action);
  const reason = action.reason ? { reason: action.reason } : {};
  const precondition = seen(action.previewed);
  if (state !== null) {
    await changeRollout(deps, operator, action.rolloutId ?? "", { state, ...reason }, precondition);
  } else if (action.action === "rollback") {
    await rollBackCatalog(deps, operator, { filter, withdrawal: action.withdrawal ?? "yank" }, precondition);
  } else if (action.action === "promote") {
    await promoteInCatalog(deps, operator, promotionOf(action), precondition);
  } else if (action.action === "schedule") {
    await startRollout(deps, operator, { filter, ...planOf(action) }, precondition);
  } else {
    await changeReleases(deps, operator, { filter, change: fieldsOf(action) ?? {}, ...reason }, precondition);
  }
}
