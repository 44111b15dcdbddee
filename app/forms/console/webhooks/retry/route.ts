import { retryDelivery } from "@/lib/webhooks/replay";
import { DeliveryParams } from "@/lib/webhooks/schema";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/webhooks/retry", {
  summary: "Attempt a delivery now",
  page: "/console/settings/webhooks",
  body: DeliveryParams,
  handle: async ({ ctx, body }, operator) => {
    await retryDelivery(ctx, operator, body);
    return { done: "retried" };
  },
});
