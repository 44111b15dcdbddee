import { performAction } from "@/lib/admin/releases/actions/perform-action";
import { PreviewedAction } from "@/lib/admin/releases/actions/release-action";
import { defineConsoleForm } from "../../define-console-form";
import { versionPath } from "../version-path";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/releases/change", {
  summary: "Change a release or its rollout",
  page: "/console/releases",
  body: PreviewedAction,
  handle: async ({ ctx, body }, operator) => {
    const isDone = await performAction(ctx, operator, body);
    return isDone ? { done: body.action, to: versionPath(body) } : { done: "stale" }; // a new preview
  },
});
