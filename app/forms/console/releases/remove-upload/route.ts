import { z } from "zod";
import { ownerOf } from "@/lib/platform/audit/operator";
import { removeUpload } from "@/lib/releases/uploads/uploads";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm(
  "/forms/console/releases/remove-upload",
  {
    summary: "Delete an upload",
    page: "/console/releases/upload",
    body: z.object({ uploadId: z.uuid() }),
    handle: async ({ ctx, body, principal }) => {
      await removeUpload(ctx, ownerOf(principal), body.uploadId);
      return { done: "removed" };
    },
  },
);
