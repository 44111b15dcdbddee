import { z } from "zod";
import { changeReleases } from "@/lib/admin/releases/api/manage-releases";
import { defineConsoleForm } from "../../define-console-form";

const text = z.string().max(256);

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/releases/notes", {
  summary: "Change release notes",
  page: "/console/releases",
  maxBodyBytes: 1024 * 1024,
  body: z.object({
    product: text,
    channel: text,
    version: text,
    notes: z.string().optional(),
    notesUrl: text.optional(),
  }),
  // An empty field is not sent.
  handle: async ({ ctx, body: { notes = "", notesUrl = null, ...filter } }, operator) => {
    const { product, channel, version } = filter;
    const change = { notes, notesUrl };
    await changeReleases(ctx, operator, { filter: { product, channel, version }, change });
    return { done: "notes" };
  },
});
