import { z } from "zod";
import { verifyVersion } from "@/lib/releases/publishing/api/verify-release";
import { defineConsoleForm } from "../../define-console-form";

const text = z.string().max(256);

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/releases/verify", {
  summary: "Verify the files of a version",
  page: "/console/releases",
  role: "support",
  body: z.object({ product: text, channel: text, version: text }),
  handle: async ({ ctx, body: { product, channel, version } }) => {
    await verifyVersion(ctx, { product, channel, version });
    return { done: "verified" };
  },
});
