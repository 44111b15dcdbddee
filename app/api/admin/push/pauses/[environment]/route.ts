import { operatorOf } from "@/lib/admin/operator";
import { endPause } from "@/lib/admin/push/pauses";
import { EndedPause, PauseParams } from "@/lib/admin/push/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/push/pauses/[environment]", {
  DELETE: endpoint({
    summary: "End the pause of an APNs environment",
    auth: { role: "admin", stepUp: true, scope: "push:send" },
    idempotency: "replay",
    params: PauseParams,
    errors: ["not_found"],
    responses: { 200: EndedPause },
    handle: ({ ctx, principal, params, caller }) => endPause(ctx, operatorOf(principal, caller), params),
  }),
});
