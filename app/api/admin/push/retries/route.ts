import { operatorOf } from "@/lib/admin/operator";
import { retryDeliveries } from "@/lib/admin/push/retry";
import { Retry, RetryResult } from "@/lib/admin/push/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

/** 1,000 ids. */
const MAX_BODY_BYTES = 64 * 1024;

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/push/retries", {
  POST: endpoint({
    summary: "Send failed notifications again",
    auth: { role: "admin", stepUp: true, scope: "push:send" },
    idempotency: "replay",
    body: Retry,
    maxBodyBytes: MAX_BODY_BYTES,
    responses: { 200: RetryResult },
    handle: ({ ctx, principal, body, caller }) => retryDeliveries(ctx, operatorOf(principal, caller), body),
  }),
});
