import type { OverviewDays } from "@/lib/overview/read-overview-days";
import { formatCount, formatShare } from "./components/format-numbers";

type MetricName = keyof OverviewDays["metrics"];
/** `href` is the list that the figure counts, since the midnight `from`. */
type Figure = { metric: MetricName; label: string; href: (from: string) => string; isFault?: true };

const listOf = (path: string, query: Record<string, string>) => `/console/${path}?${new URLSearchParams(query)}`;
const eventsOf = (type: string) => (receivedFrom: string) =>
  listOf("billing", { state: "processed", type, receivedFrom });
const deliveriesOf = (state: string) => (endedFrom: string) => listOf("push/deliveries", { state, endedFrom });

const FIGURES: readonly Figure[] = [
  { metric: "sign_ups", label: "Sign-ups", href: (createdFrom) => listOf("accounts", { createdFrom }) },
  { metric: "active_accounts", label: "Active accounts", href: (seenFrom) => listOf("accounts", { seenFrom }) },
  { metric: "active_subscriptions", label: "Active subscriptions", href: () => "/console/billing/purchases" },
  { metric: "subscriptions_started", label: "Subscriptions started", href: eventsOf("INITIAL_PURCHASE") },
  { metric: "subscriptions_renewed", label: "Subscriptions renewed", href: eventsOf("RENEWAL") },
  { metric: "subscriptions_canceled", label: "Subscriptions canceled", href: eventsOf("CANCELLATION"), isFault: true },
  { metric: "subscriptions_expired", label: "Subscriptions expired", href: eventsOf("EXPIRATION"), isFault: true },
  { metric: "update_checks", label: "Update checks", href: () => "/console/releases" },
  { metric: "notifications_sent", label: "Notifications sent", href: deliveriesOf("sent") },
  { metric: "notifications_failed", label: "Notifications failed", href: deliveriesOf("failed"), isFault: true },
];

const WEEKDAY = new Intl.DateTimeFormat("en", { weekday: "long", timeZone: "UTC" });

/** Today so far, against the same day of last week up to the same hour. Each figure links to the list that it counts. */
export function Figures({ days: { dates, metrics } }: { days: OverviewDays }) {
  const weekday = WEEKDAY.format(dates.at(-1));
  const today = dates.at(-1)?.toISOString() ?? "";
  return (
    <section aria-label={`Today, against last ${weekday} up to the same hour`}>
      <ul className="figures">
        {FIGURES.map(({ metric, label, href, isFault }) => (
          <li key={metric}>
            <a href={href(today)}>{label}</a>
            <strong>{textOf(metrics[metric].today)}</strong>
            <Change {...metrics[metric]} weekday={weekday} isFault={isFault} />
          </li>
        ))}
      </ul>
    </section>
  );
}

type ChangeProps = { today: number | null; weekAgo: number | null; weekday: string; isFault: true | undefined };

function Change({ today, weekAgo, weekday, isFault }: ChangeProps) {
  if (today === null || weekAgo === null) return <span className="change">No figure for last {weekday}</span>;
  const was = `${formatCount(weekAgo)} last ${weekday}`;
  if (weekAgo === 0 || today === weekAgo) return <span className="change">{was}</span>;
  const share = (today - weekAgo) / weekAgo;
  const isBetter = share > 0 !== (isFault ?? false);
  return (
    <span className="change">
      <span className={isBetter ? "better" : "worse"}>
        {share > 0 ? "+" : "−"}
        {formatShare(Math.abs(share))}
      </span>{" "}
      {was}
    </span>
  );
}

const textOf = (value: number | null): string => (value === null ? "–" : formatCount(value));
