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

type Props = { title: string; body: string; link?: string | undefined; bundleIds: readonly string[] };

/** What the app of a device is called. A browser's device has "web" in place of a bundle ID. */
export const appName = (bundleId: string) => (bundleId === "web" ? "Browser" : bundleId);

/** About how an iPhone shows a notification: two lines of the text, as most of its settings do. `bundleIds`: its devices' apps. */
export function NotificationPreview({ title, body, link, bundleIds }: Props) {
  return (
    <figure className="notification-preview">
      <div className="notification">
        <p className="notification-app">
          <span>{bundleIds.map(appName).join(", ")}</span> <span>now</span>
        </p>
        <p className="notification-title">{title}</p>
        <p className="notification-body">{body}</p>
      </div>
      <figcaption>{link ? <>Opens “{link}” in the app.</> : "Opens the app."}</figcaption>
    </figure>
  );
}
