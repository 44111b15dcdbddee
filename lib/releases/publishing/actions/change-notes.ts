import { z } from "zod";
import { seen } from "../../../platform/precondition";
import type { Operator } from "../../../principal";
import { changeReleases } from "../api/manage-releases";
import { NOTES_FIELDS } from "../api/seen-state";

const text = z.string().max(256);

/** The form with the release notes of a version. The browser does not send an empty field. */
export const NotesForm = z.object({
  product: text,
  channel: text,
  version: text,
  notes: z.string().default(""),
  notesUrl: text.nullable().default(null),
  /** The notes that the page has shown, by `stateOfFields`. */
  previewed: text,
});

const OVERWRITTEN =
  "Somebody else has changed these notes since you opened the page. Copy your text, reload the page, and add it to theirs.";

/** Changes the release notes. @throws AppError precondition_failed if they are not those that the page has shown */
export async function changeNotes(
  deps: Parameters<typeof changeReleases>[0],
  operator: Operator,
  { product, channel, version, notes, notesUrl, previewed }: z.infer<typeof NotesForm>,
): Promise<void> {
  const changed = { filter: { product, channel, version }, change: { notes, notesUrl } };
  await changeReleases(deps, operator, changed, { ...seen(previewed, OVERWRITTEN), fields: NOTES_FIELDS });
}
