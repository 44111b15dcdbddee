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
