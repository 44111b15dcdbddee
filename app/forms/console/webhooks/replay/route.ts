import { ReplayForm } from "@/lib/webhooks/form";
import { replayDeliveries } from "@/lib/webhooks/replay";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/webhooks/replay", {
  summary: "Replay the events since a time",
  page: "/console/settings/webhooks",
  body: ReplayForm,
  handle: async ({ ctx, body: { endpointId, since, all } }, operator) => {
    const { queued } = await replayDeliveries(ctx, operator, endpointId, { since, all: all === "on" });
    return { done: queued === 0 ? "replayed_none" : "replayed" };
  },
});
