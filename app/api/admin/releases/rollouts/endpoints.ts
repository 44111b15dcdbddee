import { ifMatch, withState } from "@/app/api/admin/if-match";
import { operatorOf } from "@/lib/admin/operator";
import { changeRollout, readSeenRollout, startRollout } from "@/lib/admin/releases/api/manage-rollouts";
import { listRollouts, RolloutList, RolloutState } from "@/lib/admin/releases/rollouts/list-rollouts";
import { ChangedRollout, NewRollout, RolloutParams } from "@/lib/admin/releases/schemas/rollouts";
import { endpoint } from "@/lib/http/endpoint";

const TO_READ = { role: "support", scope: "releases:read" } as const;
const TO_WRITE = { role: "admin", stepUp: true, scope: "releases:write" } as const;

export const listAll = endpoint({
  summary: "List the schedules of rollouts",
  auth: TO_READ,
  responses: { 200: RolloutList },
  handle: async ({ ctx }) => ({ rollouts: await listRollouts(ctx) }),
});

export const schedule = endpoint({
  summary: "Schedule a rollout",
  auth: TO_WRITE,
  idempotency: "replay",
  body: NewRollout,
  errors: [
    ...(["release_not_found", "release_invalid", "release_yanked", "rollout_invalid", "precondition_failed"] as const),
    ...(["catalog_not_editable", "catalog_invalid", "catalog_locked", "catalog_unavailable", "disk_full"] as const),
  ],
  responses: { 201: RolloutState },
  handle: ({ ctx, principal, body, caller, request }) =>
    startRollout(ctx, operatorOf(principal, caller), body, ifMatch(request)),
});

export const getOne = endpoint({
  summary: "Get the schedule of a rollout",
  auth: TO_READ,
  params: RolloutParams,
  errors: ["rollout_not_found", "catalog_invalid", "catalog_unavailable"],
  responses: { 200: RolloutState },
  handle: async ({ ctx, params }) => {
    const { rollout, state } = await readSeenRollout(ctx, params.rolloutId);
    return withState(rollout, state);
  },
});

export const changeOne = endpoint({
  summary: "Halt, resume or complete a rollout",
  auth: TO_WRITE,
  idempotency: "replay",
  params: RolloutParams,
  body: ChangedRollout,
  errors: ["rollout_not_found", "rollout_conflict", "precondition_failed", "catalog_invalid", "catalog_unavailable"],
  responses: { 200: RolloutState },
  handle: ({ ctx, principal, params, body, caller, request }) =>
    changeRollout(ctx, operatorOf(principal, caller), params.rolloutId, body, ifMatch(request)),
});
