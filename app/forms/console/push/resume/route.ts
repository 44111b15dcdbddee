import { endPause } from "@/lib/push/admin/pauses";
import { PauseParams } from "@/lib/push/admin/schema";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/push/resume", {
  summary: "End the pause of an APNs environment",
  page: "/console/push",
  body: PauseParams,
  handle: async ({ ctx, body }, operator) => {
    await endPause(ctx, operator, body);
    return { done: "pause_ended" };
  },
});
