import { changeNotes, NotesForm } from "@/lib/releases/publishing/actions/change-notes";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/releases/notes", {
  summary: "Change release notes",
  page: "/console/releases",
  maxBodyBytes: 1024 * 1024,
  body: NotesForm,
  keptFields: ["notes", "notesUrl"],
  handle: async ({ ctx, body }, operator) => {
    await changeNotes(ctx, operator, body);
    return { done: "notes" };
  },
});
