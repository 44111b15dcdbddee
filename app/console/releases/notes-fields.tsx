import { formPath } from "@/lib/operation";
import type { Flash } from "@/lib/platform/http/pages/flash";
import type { CatalogVersion } from "@/lib/releases/publishing/list-versions";
import { releaseOperations } from "@/lib/releases/publishing/operations";
import { NOTES_FIELDS, stateOfFields } from "@/lib/releases/publishing/seen-state";
import { Field } from "../../(web)/components/field";
import { ReleaseNotes } from "../../(web)/download/product";
import { OperationForm } from "../components/operation-form";

type Props = { version: CatalogVersion; isEditable: boolean; flash: Flash | null };

/** The release notes and, for those who may, the form that changes them. */
export function NotesFields({ version: { product, channel, version, releases }, isEditable, flash }: Props) {
  const { notes = "", notesUrl = null } = releases[0] ?? {};
  const previewed = stateOfFields(releases, NOTES_FIELDS);
  const isSame = releases.every((release) => release.notes === notes);
  return (
    <>
      {notes === "" ? (
        <p className="muted">There are none.</p>
      ) : (
        <div className="release-notes">
          <ReleaseNotes markdown={notes} heading="h3" />
        </div>
      )}
      {isEditable && (
        <details open={flash?.form === formPath(releaseOperations.changeNotes)}>
          <summary>Edit</summary>
          <OperationForm
            operation={releaseOperations.changeNotes}
            params={{ product, channel, version, previewed }}
            confirmTo="edit them"
            flash={flash}
            className="form"
          >
            <div className="field">
              <label htmlFor="notes">Notes in Markdown</label>
              <p className="hint" id="notes-hint">
                For all platforms.{isSame ? "" : " The platforms have different notes now: this replaces them."}
              </p>
              <textarea
                id="notes"
                name="notes"
                rows={10}
                defaultValue={flash?.values.notes ?? notes}
                aria-describedby="notes-hint"
              />
            </div>
            <Field name="notesUrl" label="A page with the notes (optional)" type="url" defaultValue={notesUrl ?? ""} />
            <button type="submit">Save</button>
          </OperationForm>
        </details>
      )}
    </>
  );
}
