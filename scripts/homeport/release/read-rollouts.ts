import type { RolloutState } from "../../../lib/releases/rollouts/list-rollouts";
import type { AdminApi } from "../transport/admin-api";

export const ROLLOUTS = "/api/admin/releases/rollouts";

/** The schedules of rollouts, newest first. */
export async function listRollouts(api: AdminApi): Promise<RolloutState[]> {
  const { rollouts } = await api.get<{ rollouts: RolloutState[] }>(ROLLOUTS);
  return rollouts.map(withDates);
}

/** The schedules of rollouts by release id, for a list of releases. */
export async function readRollouts(api: AdminApi): Promise<Map<string, RolloutState>> {
  const rollouts = await listRollouts(api);
  return new Map(rollouts.flatMap((rollout) => rollout.releaseIds.map((id) => [id, rollout] as const)));
}

/** JSON has times as text. */
function withDates(rollout: RolloutState): RolloutState {
  const dated = Object.entries(rollout).map(([name, value]) => {
    const isTime = name.endsWith("At") && typeof value === "string";
    return [name, isTime ? new Date(value) : value];
  });
  return Object.fromEntries(dated) as RolloutState;
}
