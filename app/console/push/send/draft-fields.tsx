import type { Draft } from "@/lib/push/admin/drafts";
import { Field } from "../../../(web)/components/field";

/** The form of the text. It is sent as the query of its own page, which shows the preview. */
export function DraftFields({ draft }: { draft: Draft }) {
  const { account } = draft;
  return (
    <form action="/console/push/send" method="get" className="form">
      <Field name="account" label="Account" hint="An email or an ID." defaultValue={account} required maxLength={320} />
      <TextFields draft={draft} />
      <button type="submit">Preview</button>
    </form>
  );
}

/** The fields of what a notification says. */
export function TextFields({ draft: { title, body, link } }: { draft: Omit<Draft, "account"> }) {
  return (
    <>
      <Field name="title" label="Title" defaultValue={title} required maxLength={200} autoComplete="off" />
      <div className="field">
        <label htmlFor="body">Text</label>
        <textarea id="body" name="body" rows={4} defaultValue={body} required maxLength={1000} />
      </div>
      <Field
        name="link"
        label="Link (optional)"
        hint="What the app opens: data.link of the notification."
        defaultValue={link}
        maxLength={1000}
        autoComplete="off"
      />
    </>
  );
}
