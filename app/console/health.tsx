import type { Queues } from "@/lib/overview/read-queues";
import type { Health as HealthChecks } from "@/lib/platform/http/health";
import type { UpdateState } from "@/lib/platform/update-check";
import { Badge, type Tone } from "./components/cells";
import { countBounded, formatBounded, formatDuration } from "./components/format-numbers";
import { Section } from "./components/headings";

type Props = {
  health: HealthChecks;
  updates: UpdateState | null | undefined;
  queues: Queues | undefined;
  mailer: "smtp" | "files" | "off";
  isPushConfigured: boolean;
  productsWithoutEntitlement: number;
};

type Check = { name: string; tone: Tone; status: string; detail: string; href?: string };

/** A queue whose oldest entry waits longer is behind. */
const MAX_QUEUE_AGE_SECONDS = 5 * 60;

const CATALOG_DETAILS = {
  ok: "Read, and valid",
  warn: "The newest catalog could not be read or is not valid: the last valid one is in use",
  error: "There is no valid catalog: downloads and updates respond with 503",
};

/** Whether the service is well: what works, and what waits. What is wrong comes first. */
export function Health({ health, updates, queues, mailer, isPushConfigured, productsWithoutEntitlement }: Props) {
  const checks = [
    ...checksOf(health),
    ...versions(updates),
    ...products(productsWithoutEntitlement),
    ...(queues
      ? [
          inbox(queues),
          ...consents(queues),
          notifications(queues, isPushConfigured),
          emails(queues, mailer),
          ...webhooks(queues),
        ]
      : []),
  ];
  const urgency = ({ tone }: Check) => ["warning", "bad"].indexOf(tone);
  const faults = checks.filter((check) => urgency(check) >= 0).length;
  const isComplete = checks.every(({ status }) => status !== "Not set up");
  return (
    <Section title={titleOf(faults, isComplete)}>
      <ul className="checks-list">
        {checks
          .toSorted((a, b) => urgency(b) - urgency(a))
          .map(({ name, tone, status, detail, href }) => (
            <li key={`${name} ${href}`}>
              <span className="check-name">{href ? <a href={href}>{name}</a> : name}</span>
              <Badge tone={tone}>{status}</Badge>
              <span className="check-detail">{detail}</span>
            </li>
          ))}
      </ul>
    </Section>
  );
}

function titleOf(faults: number, isComplete: boolean): string {
  if (faults === 0) return isComplete ? "Everything works" : "Everything that is set up works";
  return faults === 1 ? "One thing needs attention" : `${faults} things need attention`;
}

function checksOf({ checks, lastBackupAt }: HealthChecks): Check[] {
  if (!checks) return [];
  const { database, storage, catalog } = checks;
  return [
    database === "ok"
      ? { name: "Database", tone: "good", status: "Works", detail: "Responds, and its migrations are applied" }
      : { name: "Database", tone: "bad", status: "Fails", detail: "Does not respond, or lacks migrations" },
    storage === "ok"
      ? { name: "Disk", tone: "good", status: "Works", detail: "Has space for the database" }
      : { name: "Disk", tone: "bad", status: "Full", detail: "The database cannot write" },
    {
      name: "Release catalog",
      tone: ({ ok: "good", warn: "warning", error: "bad" } as const)[catalog],
      status: { ok: "Works", warn: "Stale", error: "Missing" }[catalog],
      detail: CATALOG_DETAILS[catalog],
      href: "/console/releases",
    },
    backups(checks.backup, lastBackupAt),
    ...mirror(checks.mirror),
  ];
}

/** This version against the newest one, and its advisories. Nothing without UPDATE_CHECK=on. */
function versions(updates: UpdateState | null | undefined): Check[] {
  if (updates === undefined) return [];
  const name = "Version";
  if (updates === null) {
    const detail = "There was no valid response yet: the log says why";
    return [{ name, tone: "neutral", status: "Unknown", detail }];
  }
  const { version, newest, advisories, answeredAt } = updates;
  const asOf = `as of ${answeredAt.toISOString().slice(0, 10)}`;
  return [
    newest
      ? { name, tone: "neutral", status: "Outdated", detail: `${newest.version} is available`, href: newest.url }
      : { name, tone: "good", status: "Newest", detail: `${version} is the newest one, ${asOf}` },
    ...advisories.map(
      ({ id, title, severity, url }): Check => ({
        name: "Advisory",
        tone: "bad",
        status: severity[0]?.toUpperCase() + severity.slice(1),
        detail: `${version} is affected by ${id}: ${title}`,
        href: url,
      }),
    ),
  ];
}

function backups(state: "ok" | "warn" | undefined, lastAt: Date | undefined): Check {
  const name = "Backups";
  if (state === undefined) return { name, tone: "neutral", status: "Not set up", detail: "BACKUP_SCHEDULE is not set" };
  const last = lastAt
    ? `The last one: ${lastAt.toISOString().slice(0, 16).replace("T", " ")} UTC`
    : "None has been made";
  return state === "ok"
    ? { name, tone: "good", status: "Works", detail: last }
    : { name, tone: "warning", status: "Late", detail: `${last}: the log says why` };
}

/** Nothing without RELEASE_MIRROR. */
function mirror(state: "ok" | "warn" | undefined): Check[] {
  if (state === undefined) return [];
  return [
    state === "ok"
      ? { name: "Release mirror", tone: "good", status: "Current", detail: "Has what updaters request" }
      : {
          name: "Release mirror",
          tone: "warning",
          status: "Behind",
          detail: "Does not have all that the catalog offers: homeport release mirror says why",
        },
  ];
}

function inbox({ failedEvents, pendingEvents, pendingEventsSeconds }: Queues): Check {
  const waiting =
    pendingEventsSeconds === null
      ? "no event waits"
      : `${countBounded(pendingEvents, "event waits", "events wait")}, the oldest for ${formatDuration(pendingEventsSeconds)}`;
  const name = "Billing inbox";
  if (failedEvents > 0) {
    const detail = `${countBounded(failedEvents, "event", "events")} could not be applied; ${waiting}`;
    return { name, tone: "bad", status: "Failures", detail, href: "/console/billing?state=failed" };
  }
  const detail = `No failures; ${waiting}`;
  return (pendingEventsSeconds ?? 0) > MAX_QUEUE_AGE_SECONDS
    ? { name, tone: "warning", status: "Behind", detail, href: "/console/billing?state=received" }
    : { name, tone: "good", status: "Works", detail, href: "/console/billing" };
}

/** Children whose parent has withdrawn the consent. Nothing where there is none. */
function consents({ withdrawnConsents }: Queues): Check[] {
  if (withdrawnConsents === 0) return [];
  const detail = `A parent has withdrawn the consent to ${countBounded(withdrawnConsents, "account", "accounts")}: delete them, or record that it was given again`;
  const href = "/console/accounts?state=consent_withdrawn";
  return [{ name: "Parental consent", tone: "warning", status: "Withdrawn", detail, href }];
}

/** Subscriptions that give nothing. Nothing where there is none. */
function products(count: number): Check[] {
  if (count === 0) return [];
  const detail = `Subscriptions to ${countBounded(count, "product unlock", "products unlock")} nothing`;
  const href = "/console/billing/products?withoutEntitlement=true";
  return [{ name: "Products without entitlements", tone: "warning", status: "Incomplete", detail, href }];
}

function notifications({ queuedPush, duePushSeconds }: Queues, isConfigured: boolean): Check {
  const isLate = (duePushSeconds ?? 0) > MAX_QUEUE_AGE_SECONDS;
  const waiting =
    queuedPush === 0 ? "No notification waits" : countBounded(queuedPush, "notification waits", "notifications wait");
  const due = duePushSeconds === null ? "none is due" : `the oldest has been due for ${formatDuration(duePushSeconds)}`;
  return {
    name: "Notifications",
    tone: isLate ? "warning" : isConfigured ? "good" : "neutral",
    status: isLate ? "Behind" : isConfigured ? "Works" : "Not set up",
    detail: `${waiting}${queuedPush === 0 ? "" : `, ${due}`}${isConfigured ? "" : ". APNs is not configured"}`,
    href: "/console/push",
  };
}

function emails({ queuedEmails, retriedEmails, dueEmailsSeconds }: Queues, mode: Props["mailer"]): Check {
  const isFailing = retriedEmails > 0;
  const isLate = (dueEmailsSeconds ?? 0) > MAX_QUEUE_AGE_SECONDS;
  const waiting = queuedEmails === 0 ? "No email waits" : countBounded(queuedEmails, "email waits", "emails wait");
  const failed = isFailing ? `, ${formatBounded(retriedEmails)} after a failed attempt` : "";
  const where = { smtp: "", files: ". Emails are written to files", off: ". No mail server is configured" }[mode];
  return {
    name: "Email",
    tone: isFailing || isLate ? "warning" : mode === "off" ? "neutral" : "good",
    status: isFailing ? "Retrying" : isLate ? "Behind" : mode === "off" ? "Not set up" : "Works",
    detail: `${waiting}${failed}${where}`,
    href: isFailing ? "/console/push/mail?state=retrying" : "/console/push/mail",
  };
}

/** Endpoints that take their deliveries or not. Nothing where there is none. */
function webhooks({ webhookEndpoints: all, failingWebhooks, disabledWebhooks }: Queues): Check[] {
  if (all === 0) return [];
  const [failing, disabled] = [failingWebhooks, disabledWebhooks].map((count) => `${count} of ${all} endpoints`);
  const faults = [
    ...(failingWebhooks > 0 ? [`${failing} ${failingWebhooks === 1 ? "fails" : "fail"}`] : []),
    ...(disabledWebhooks > 0 ? [`${disabled} ${disabledWebhooks === 1 ? "was" : "were"} disabled by the service`] : []),
  ];
  const webhooks = { name: "Webhooks", href: "/console/settings/webhooks" };
  if (faults.length > 0) return [{ ...webhooks, tone: "warning", status: "Failing", detail: faults.join(", ") }];
  return [{ ...webhooks, tone: "good", status: "Works", detail: `No endpoint of ${all} fails` }];
}
