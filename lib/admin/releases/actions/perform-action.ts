import type { Operator } from "../../../audit/operator-events";
import type { Context } from "../../../context";
import { promoteInCatalog, rollBackCatalog } from "../api/maintain-catalog";
import { changeReleases } from "../api/manage-releases";
import { changeRollout, startRollout } from "../api/manage-rollouts";
import { fieldsOf, filterOf, planOf, promotionOf, type ReleaseAction, stateOf } from "./release-action";

type Deps = Pick<Context, "catalog" | "config" | "db" | "dbNow" | "log" | "now" | "rollouts" | "webhooks">;

/** Performs an action that an operator has previewed. @throws AppError as the API's routes for the same action */
export async function performAction(deps: Deps, operator: Operator, action: ReleaseAction): Promise<void> {
  const filter = filterOf(action);
  const state = stateOf(action);
  if (state !== null) {
    const reason = action.reason ? { reason: action.reason } : {};
    await changeRollout(deps, operator, action.rolloutId ?? "", { state, ...reason });
  } else if (action.action === "rollback") {
    await rollBackCatalog(deps, operator, { filter, withdrawal: action.withdrawal ?? "yank" });
  } else if (action.action === "promote") {
    await promoteInCatalog(deps, operator, promotionOf(action));
  } else if (action.action === "schedule") {
    await startRollout(deps, operator, { filter, ...planOf(action) });
  } else {
    await changeReleases(deps, operator, { filter, change: fieldsOf(action) ?? {} });
  }
}
