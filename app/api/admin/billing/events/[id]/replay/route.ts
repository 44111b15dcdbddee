import { Replay, ReplayedEvent } from "@/lib/admin/billing/changes-schema";
import { replayEvent } from "@/lib/admin/billing/replay-events";
import { BillingIdParams } from "@/lib/admin/billing/schema";
import { operatorOf } from "@/lib/admin/operator";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/billing/events/[id]/replay", {
  POST: endpoint({
    summary: "Apply a billing event again",
    auth: { role: "admin", stepUp: true, scope: "billing:write" },
    idempotency: "replay",
    params: BillingIdParams,
    body: Replay,
    isBodyOptional: true,
    errors: ["not_found"],
    responses: { 200: ReplayedEvent },
    handle: ({ ctx, principal, params, body, caller }) =>
      replayEvent(ctx, operatorOf(principal, caller), params.id, body),
  }),
});
