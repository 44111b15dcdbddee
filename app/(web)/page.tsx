import { checkHealth } from "@/lib/http/health";
import { pageContext } from "@/lib/http/pages/visitor";
import { Moment } from "./components/time";

export default async function Page() {
  const ctx = pageContext();
  const { version, commit, builtAt } = ctx.config.build;
  const { status } = await checkHealth(ctx, { probe: "ready" });
  return (
    <>
      <h1>Homeport</h1>
      <p className="lead">Downloads and updates for our apps, and your account.</p>
      <section className="card" aria-labelledby="service">
        <h2 id="service">Service status</h2>
        <p className={status === "ok" ? "status ok" : "status error"}>{HEALTH_MESSAGES[status]}</p>
        <dl>
          <dt>Version</dt>
          <dd>{version}</dd>
          {commit && (
            <>
              <dt>Commit</dt>
              <dd>
                <code>{commit.slice(0, 12)}</code>
              </dd>
            </>
          )}
          {builtAt && (
            <>
              <dt>Built</dt>
              <dd>
                <Moment at={new Date(builtAt)} />
              </dd>
            </>
          )}
        </dl>
      </section>
      <ul className="tiles">
        {LINKS.map(({ href, title, text }) => (
          <li key={href}>
            <a href={href}>{title}</a>
            <p>{text}</p>
          </li>
        ))}
      </ul>
    </>
  );
}

const HEALTH_MESSAGES = {
  ok: "All systems operational",
  error: "The service is degraded",
  draining: "This instance is restarting",
} as const;

const LINKS = [
  { href: "/download", title: "Download", text: "The latest installers, with release notes and checksums." },
  {
    href: "/account",
    title: "Your account",
    text: "Your subscription, devices and sessions. Export or delete your data.",
  },
  { href: "/docs", title: "API reference", text: "Every endpoint with its parameters and responses." },
  { href: "/docs/errors", title: "Error reference", text: "Every error code, and how to handle it." },
  { href: "/api/health", title: "Health", text: "For uptime probes. Returns 200 while the service is healthy." },
  { href: "/api/version", title: "Version", text: "The version of this service, as JSON." },
];
