import { performAction } from "@/lib/releases/publishing/actions/perform-action";
import { PreviewedAction } from "@/lib/releases/publishing/actions/release-action";
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
