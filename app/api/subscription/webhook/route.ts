import { endpoint } from "@/lib/http/endpoint";
import { defineRoute, forEveryMethod } from "@/lib/http/route";
import { refuseRetired } from "@/lib/subscriptions/retired";

const retired = endpoint({
  summary: "Retired: use /api/subscription/billing-provider-webhook",
  database: false,
  errors: ["endpoint_retired"],
  responses: {},
  handle: ({ ctx }) => refuseRetired(ctx, "/api/subscription/billing-provider-webhook"),
});

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/subscription/webhook",
  forEveryMethod(retired),
);
