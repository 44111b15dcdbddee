import { PruneBatch } from "@/lib/subscriptions/admin/changes-schema";
import { prunePayloads } from "@/lib/subscriptions/admin/prune-payloads";
import { defineConsoleForm } from "../../define-console-form";
import { batchPage } from "../batch-page";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/billing/prune", {
  summary: "Delete old payloads",
  page: "/console/billing",
  body: PruneBatch,
  handle: async ({ ctx, body }, operator) => ({
    to: batchPage("prune", await prunePayloads(ctx, operator, body)),
  }),
});
