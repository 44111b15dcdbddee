import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { SubscriptionStatus } from "@/lib/subscriptions/schema";
import { readSubscriptionStatus } from "@/lib/subscriptions/status/read-status";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/subscription/status", {
  GET: endpoint({
    summary: "Get the caller's subscription status",
    auth: "account",
    responses: { 200: SubscriptionStatus },
    handle: ({ ctx, principal }) => readSubscriptionStatus(ctx, principal),
  }),
});
