import { ownerOf } from "@/lib/platform/audit/operator";
import { PublishForm, toNewReleases } from "@/lib/releases/publishing/api/publish-form";
import { publishUploads } from "@/lib/releases/publishing/api/publish-uploads";
import { defineConsoleForm } from "../../define-console-form";
import { versionPath } from "../version-path";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/releases/publish", {
  summary: "Publish uploaded files",
  page: "/console/releases/upload",
  maxBodyBytes: 1024 * 1024,
  body: PublishForm,
  keptFields: ["product", "version", "channel", "rollout", "notes"],
  handle: async ({ ctx, body, principal }, operator) => {
    const { product, version, channel } = body;
    await publishUploads(ctx, operator, ownerOf(principal), toNewReleases(body));
    return { done: "published", to: versionPath({ product, version, channel }) };
  },
});
