import { ReplayBatch, ReplayedBatch } from "@/lib/admin/billing/changes-schema";
import { replayBatch } from "@/lib/admin/billing/replay-events";
import { operatorOf } from "@/lib/admin/operator";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/billing/replays", {
  POST: endpoint({
    summary: "Apply the next billing events of a state again",
    auth: { role: "admin", stepUp: true, scope: "billing:write" },
    idempotency: "replay",
    body: ReplayBatch,
    responses: { 200: ReplayedBatch },
    handle: ({ ctx, principal, body, caller }) => replayBatch(ctx, operatorOf(principal, caller), body),
  }),
});
