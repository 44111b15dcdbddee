import { z } from "zod";
import { cancelMessage } from "@/lib/push/admin/cancel";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/push/cancel", {
  summary: "Cancel the unsent deliveries of a notification",
  page: "/console/push",
  body: z.object({ id: z.uuid() }),
  handle: async ({ ctx, body }, operator) => {
    await cancelMessage(ctx, operator, body.id);
    return { done: "canceled" };
  },
});
