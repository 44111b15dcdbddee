import { listRollouts, RolloutList } from "@/lib/admin/releases/rollouts/list-rollouts";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/releases/rollouts", {
  GET: endpoint({
    summary: "List the schedules of rollouts",
    auth: { role: "support", scope: "releases:read" },
    responses: { 200: RolloutList },
    handle: async ({ ctx }) => ({ rollouts: await listRollouts(ctx) }),
  }),
});
