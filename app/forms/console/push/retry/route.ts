import { z } from "zod";
import { retryDeliveries } from "@/lib/push/admin/retry";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/push/retry", {
  summary: "Send failed notifications again",
  page: "/console/push/deliveries",
  body: z.object({ id: z.uuid().optional() }),
  handle: async ({ ctx, body: { id } }, operator) => {
    await retryDeliveries(ctx, operator, { ids: id === undefined ? undefined : [id] });
    return { done: "retried" };
  },
});
