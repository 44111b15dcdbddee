import { checkHealth } from "@/lib/http/health";
import { pageContext } from "@/lib/http/pages/visitor";
import { Moment } from "./parts/time";

export default async function Page() {
  const ctx = pageContext();
  const { version, commit, builtAt } = ctx.config.build;
  const { status } = await checkHealth(ctx, { probe: "ready" });
  return (
    <>
      <h1>Homeport</h1>
      <p className="lead">Our apps come home here: for their updates, your account, notifications and subscriptions.</p>
      <section className="card" aria-labelledby="service">
        <h2 id="service">This service</h2>
        <p className={status === "ok" ? "state good" : "state bad"}>{HEALTH_IN_WORDS[status]}</p>
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
        {PLACES.map(({ href, title, text }) => (
          <li key={href}>
            <a href={href}>{title}</a>
            <p>{text}</p>
          </li>
        ))}
      </ul>
    </>
  );
}

const HEALTH_IN_WORDS = {
  ok: "Everything works",
  error: "Something is out of order; we are on it",
  draining: "This instance is about to restart",
} as const;

const PLACES = [
  { href: "/download", title: "Download", text: "The newest installers, with their checksums and what is new." },
  { href: "/account", title: "Your account", text: "Subscription, devices, sessions; export or delete it all." },
  { href: "/docs", title: "API reference", text: "Every address of the API, what it takes and what it answers." },
  { href: "/docs/errors", title: "Error reference", text: "Every error code of the API, and what to do about it." },
  { href: "/api/health", title: "Health", text: "For uptime probes: 200 while everything works." },
  { href: "/api/version", title: "Version", text: "For programs: which version of the service this is." },
];
