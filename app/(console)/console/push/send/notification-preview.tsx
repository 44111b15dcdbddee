type Props = { title: string; body: string; link?: string | undefined; appName: string };

/** About how an iPhone shows a notification: two lines of the text, as most of its settings do. */
export function NotificationPreview({ title, body, link, appName }: Props) {
  return (
    <figure className="notification-preview">
      <div className="notification">
        <p className="notification-app">
          <span>{appName}</span> <span>now</span>
        </p>
        <p className="notification-title">{title}</p>
        <p className="notification-body">{body}</p>
      </div>
      <figcaption>{link ? <>Opens “{link}” in the app.</> : "Opens the app."}</figcaption>
    </figure>
  );
}
